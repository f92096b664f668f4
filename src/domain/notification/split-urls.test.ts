import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitUrls } from './message.ts';

describe('splitUrls()', () => {
  test.each([
    ['', []],
    [' \n\t, ', []],
    ['a://b', ['a://b']],
    ['a://b,c://d e://f', ['a://b', 'c://d', 'e://f']],
    ['smtp://h/?to=a@x,b@y,ops=slack://t', ['smtp://h/?to=a@x,b@y', 'ops=slack://t']],
    ['a://b\nc://d,\n', ['a://b', 'c://d']],
    ['nonsense c://d', ['nonsense', 'c://d']],
    [
      'pagerduty://k?contexts=link:https://l.example.com,image:https://i.example.com,https://h.example.com?a=b,c://d',
      [
        'pagerduty://k?contexts=link:https://l.example.com,image:https://i.example.com',
        'https://h.example.com?a=b',
        'c://d',
      ],
    ],
    [
      'ntfy://h/t?actions=view,Docs,https://d.example.com,http,Go,url=https://e.example.com&tags=x,c://d',
      ['ntfy://h/t?actions=view,Docs,https://d.example.com,http,Go,url=https://e.example.com&tags=x', 'c://d'],
    ],
  ])('%j is %j', (text, expected) => {
    expect(splitUrls(text)).toEqual(expected);
  });

  test('loses and invents nothing but separators', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', ':', '/', ',', ' ', '=') }), (text) => {
        expect(splitUrls(text).join('').replaceAll(/[\s,]/g, '')).toBe(text.replaceAll(/[\s,]/g, ''));
      }),
    );
  });
});
