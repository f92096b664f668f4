import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HttpFailure } from '../http/exchange.ts';
import { nextPage } from './answer.ts';

describe('nextPage()', () => {
  const url = new URL('https://registry.test/v2/a/b/tags/list');

  test.each([
    ['</v2/a/b/tags/list?last=x&n=5>; rel="next"', '?last=x&n=5'],
    ['</v2/a/b/tags/list?last=x>; rel=next', '?last=x'],
    ['<https://registry.test/v2/a/b/tags/list?last=x>;rel="next"', '?last=x'],
    ['</first>; rel="first", </v2/a/b/tags/list?last=x>; rel="next"', '?last=x'],
    ['</v2/a/b/tags/list?last=x>; rel="prev"', undefined],
    ['</v2/a/b/tags/list?last=x>; rel="nextish"', undefined],
    ['</v2/a/b/tags/list>; rel="next"', undefined],
    ['', undefined],
    ['garbage', undefined],
  ])('reads %s', (link, expected) => {
    expect(nextPage(link, { url })).toBe(expected);
  });

  test('takes a link without the port that the scheme means, and none to another port', () => {
    const behindPort = new URL('https://registry.test:80/v2/a/b/tags/list');
    expect(nextPage('<http://registry.test/v2/a/b/tags/list?last=x>; rel="next"', { url: behindPort })).toBe('?last=x');
    for (const other of ['https://registry.test', 'http://registry.test:81', 'http://other.test'])
      expect(() => nextPage(`<${other}/v2/a/b/tags/list?last=x>; rel="next"`, { url: behindPort })).toThrow(
        'its list continues on another host',
      );
  });

  test('refuses a link that it cannot read to its end, which would end the list', () => {
    const linkOf = (length: number) => `</v2/a/b/tags/list?last=${'x'.repeat(length - 37)}>; rel="next"`;
    expect(linkOf(2000)).toHaveLength(2000);
    expect(nextPage(linkOf(2000), { url })).toBe(`?last=${'x'.repeat(1963)}`);
    for (const length of [2020, 5000])
      expect(() => nextPage(linkOf(length), { url })).toThrow('its list continues at a URL that is too long');
  });

  test('throws nothing but its failure, and its queries stay at the path', () => {
    const part = fc.oneof(
      fc.string(),
      fc.constantFrom('<', '>; rel="next"', '/v2/a/b/tags/list?', 'https://', '@', '//'),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        try {
          const query = nextPage(parts.join(''), { url }) ?? '';
          expect(new URL(`${url.href}${query}`).pathname).toBe(url.pathname);
        } catch (error) {
          expect(error).toBeInstanceOf(HttpFailure);
        }
      }),
      { numRuns: 500 },
    );
  });
});
