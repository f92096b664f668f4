import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTokens } from './named-tokens.ts';

test.each([
  ['secret\n', [{ name: undefined, token: 'secret' }]],
  ['a:b:c', [{ name: undefined, token: 'a:b:c' }]],
  ['one\ntwo', [{ name: undefined, token: 'one\ntwo' }]],
  ['anna: t1', [{ name: 'anna', token: 't1' }]],
  [
    'anna: t1\r\n\nJosé at home:\tt2:x\nt3\n',
    [
      { name: 'anna', token: 't1' },
      { name: 'José at home', token: 't2:x' },
      { name: undefined, token: 't3' },
    ],
  ],
  ['evil\u001b[0m: t1', [{ name: undefined, token: 'evil\u001b[0m: t1' }]],
])('readTokens(%j)', (text, tokens) => expect(readTokens(text)).toEqual(tokens));

test('a token without spaces is never taken for a name and a token', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]{1,80}$/), (token) => {
      expect(readTokens(`${token}\n`)).toEqual([{ name: undefined, token }]);
    }),
  );
});
