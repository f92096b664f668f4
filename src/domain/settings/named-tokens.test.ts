import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTokens } from './http-settings.ts';

test.each([
  ['secret\n', [{ name: undefined, token: 'secret' }]],
  ['\ufeff  secret', [{ name: undefined, token: 'secret' }]],
  ['a:b:c', [{ name: undefined, token: 'a:b:c' }]],
  ['bob:secret', [{ name: undefined, token: 'bob:secret' }]],
  ['// two words', [{ name: undefined, token: '// two words' }]],
  ['q7#T+/9=:~', [{ name: undefined, token: 'q7#T+/9=:~' }]],
  ['# the token of the dashboard\n\nsecret\n', [{ name: undefined, token: 'secret' }]],
  ['anna: t1', [{ name: 'anna', token: 't1' }]],
  ['anna: t1#', [{ name: 'anna', token: 't1#' }]],
  ['anna: /t1', [{ name: 'anna', token: '/t1' }]],
  [
    'ci: t1 operator, image=acme/*\nboard:  t2   viewer',
    [
      { name: 'ci', token: 't1', rights: { role: 'operator', within: { images: ['acme/*'], containers: [] } } },
      { name: 'board', token: 't2', rights: { role: 'viewer' } },
    ],
  ],
  [
    '# tokens\nanna: t1\r\n\r\n  # of the living room\r\nJosé at home:\tt2:x\rbob: t3\n',
    [
      { name: 'anna', token: 't1' },
      { name: 'José at home', token: 't2:x' },
      { name: 'bob', token: 't3' },
    ],
  ],
])('readTokens(%j)', (text, tokens) => expect(readTokens(text)).toEqual({ kind: 'tokens', tokens }));

const unnamed = 'is not NAME: TOKEN, as each line of several has to be';
const noCharacters = 'has a token without a letter or digit';
const badCharacter = 'has a token with a space, or with a character outside ASCII';
const notMeant = 'has a comment or a filter where its token should be';
const badName = 'has a name that is not 1 to 50 letters, digits, spaces or . _ @ -';
test.each([
  ['', 'the file has no token'],
  [' \n\t\n', 'the file has no token'],
  ['# tokens', 'the file has no token: each of its lines is a comment'],
  ['#secret\n#other', 'the file has no token: each of its lines is a comment'],
  ['bob:', 'line 1 has a name without a token'],
  ['# tokens\n\nbob: \n', 'line 3 has a name without a token'],
  ['anna: t1\nbob:', 'line 2 has a name without a token'],
  ['bob: #', 'line 1 has a name without a token'],
  ['anna: t1\nbob: #later', 'line 2 has a name without a token'],
  ['bob: # later', 'line 1 has a name without a token'],
  ['bob: ,', `line 1 ${noCharacters}`],
  ['anna: t1\nbob: ""', `line 2 ${noCharacters}`],
  ['bob: ... operator', `line 1 ${noCharacters}`],
  ['bob: image=acme/*', `line 1 ${notMeant}`],
  ['bob: Container=web', `line 1 ${notMeant}`],
  ['bob: //later', `line 1 ${notMeant}`],
  ['bob: ;later', `line 1 ${notMeant}`],
  ['bob: \u200bt1', `line 1 ${badCharacter}`],
  ['bob: pässword', `line 1 ${badCharacter}`],
  [
    'bob: my secret',
    'line 1 has a token with a space in it, or a word after it that is no role (viewer, operator, admin)',
  ],
  ['ci: viewer', 'line 1 has a role without a token before it'],
  ['ci:t1 viewer', 'line 1 has a role or a filter, and is not NAME: TOKEN before it'],
  ['t1  operator, image=acme/*', 'line 1 has a role or a filter, and is not NAME: TOKEN before it'],
  ['anna: t1\nci: operator, image=acme/*', 'line 2 has a role without a token before it'],
  ['ci: Admin,image=acme/*', 'line 1 has a role without a token before it'],
  ['anna: t1\nt2', `line 2 ${unnamed}`],
  ['t1\nanna: t2', `line 1 ${unnamed}`],
  ['one\ntwo', `line 1 ${unnamed}`],
  ['one\rtwo', `line 1 ${unnamed}`],
  ['anna: t1\nbob:t2', `line 2 ${unnamed}`],
  ['anna: t1\n: t2', `line 2 ${unnamed}`],
  ['anna: t1\n"bob": t2', `line 2 ${badName}`],
  ['anna = t1\nbob = t2', `line 1 ${unnamed}`],
  ['# one for all\nanna: t1\nbob: t2\n\nboard:  t1 viewer', 'line 5 has the same token as line 2'],
  ['anna: t1\nanna: t1', 'line 2 has the same token as line 1'],
  [`${'x'.repeat(51)}: t1`, `line 1 ${badName}`],
  ['evil\u001b[0m: t1', `line 1 ${badName}`],
  [
    Array.from({ length: 101 }, (_, index) => `n${index}: t${index}`).join('\n'),
    'line 101 is one token more than the 100 that are possible',
  ],
])('readTokens(%j) refuses the file', (text, why) => expect(readTokens(text)).toEqual({ kind: 'refused', why }));

test('a token of letters, digits and signs, without a final colon, is never taken for a name and a token', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!"$-.0-:<-BD-HJ-Z\\[-bd-hj-~][!-~]{0,78}[\da-zA-Z][!-9;-~]$/), (token) => {
      expect(readTokens(`${token}\n`)).toEqual({ kind: 'tokens', tokens: [{ name: undefined, token }] });
    }),
  );
});

test('a refusal never has content of the file, and tokens of several lines always have names', () => {
  const line = fc.oneof(
    fc.constantFrom('', '#', '# note', 'SECRET', 'SECRET:', 'SECRET: ', 'a: SECRET', 'SECRET: SECRET', 'a:SECRET'),
    fc.string({ maxLength: 20 }).map((text) => `SECRET${text}`),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
      const read = readTokens(lines.join('\n'));
      if (read.kind === 'refused') expect(read.why).not.toContain('SECRET');
      else if (read.tokens.length > 1) expect(read.tokens.every(({ name }) => name !== undefined)).toBe(true);
    }),
  );
});
