import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDockerConfig, registryOfKey } from './credentials.ts';

const auth = (text: string): string => Buffer.from(text).toString('base64');

test.each([
  ['https://index.docker.io/v1/', 'docker.io'],
  ['index.docker.io', 'docker.io'],
  ['registry-1.docker.io', 'docker.io'],
  ['docker.io', 'docker.io'],
  ['ghcr.io', 'ghcr.io'],
  ['https://GHCR.io/v2/', 'ghcr.io'],
  ['http://127.0.0.1:5000', '127.0.0.1:5000'],
  ['registry.test:5000/team', 'registry.test:5000'],
])('the key %s is for %s', (key, registry) => {
  expect(registryOfKey(key)).toBe(registry);
});

test.each<[string, object, unknown]>([
  ['auth', { auth: auth('jo:secret') }, { kind: 'password', username: 'jo', password: 'secret' }],
  ['auth with colons', { auth: auth('jo:se:cr:et') }, { kind: 'password', username: 'jo', password: 'se:cr:et' }],
  ['auth padded with zeros', { auth: auth('jo:secret\0\0') }, { kind: 'password', username: 'jo', password: 'secret' }],
  ['fields', { username: 'jo', password: 'secret' }, { kind: 'password', username: 'jo', password: 'secret' }],
  [
    'an identity token',
    { auth: auth('jo:'), identitytoken: 't' },
    { kind: 'identity-token', username: 'jo', identityToken: 't' },
  ],
  ['a registry token', { auth: auth('jo:x'), registrytoken: 't' }, { kind: 'registry-token', registryToken: 't' }],
  ['a registry token that no header can carry', { registrytoken: 'a\nb' }, 'malformed'],
  ['nothing', {}, 'empty'],
  ['auth that is no base64 of a pair', { auth: 'secret!' }, 'malformed'],
  ['a user without a password', { username: 'jo' }, 'malformed'],
  ['other types', { auth: 7, username: [], password: {} }, 'empty'],
])('a login of %s', (_, entry, expected) => {
  expect(parseDockerConfig(JSON.stringify({ auths: { 'ghcr.io': entry } }))?.logins.get('ghcr.io')).toEqual(expected);
});

test('of two keys for a registry, the one that Docker writes wins', () => {
  const one = { username: 'one', password: 'x' };
  const two = { username: 'two', password: 'x' };
  const read = (auths: object): unknown => parseDockerConfig(JSON.stringify({ auths }))?.logins.get('docker.io');
  expect(read({ 'docker.io': one, 'https://index.docker.io/v1/': two })).toMatchObject({ username: 'two' });
  expect(read({ 'https://index.docker.io/v1/': two, 'index.docker.io': one })).toMatchObject({ username: 'two' });
  expect(read({ 'index.docker.io': one, 'registry-1.docker.io': two })).toMatchObject({ username: 'one' });
});

test('helpers are read, and what is not text is left out', () => {
  const config = parseDockerConfig('{"credHelpers":{"ghcr.io":"gh","quay.io":5},"credsStore":"pass"}');
  expect([...(config?.helpers ?? [])]).toEqual([['ghcr.io', 'gh']]);
  expect(config?.store).toBe('pass');
});

test.each(['', 'null', '[]', '"text"', '{"auths":', '\u0000'])('%j is not a config', (text) => {
  expect(parseDockerConfig(text)).toBeUndefined();
});

test('any JSON object is a config, and no key of it reaches a prototype', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('auths', 'credHelpers', 'credsStore', '__proto__'), fc.jsonValue()),
      (value) => {
        expect(parseDockerConfig(JSON.stringify(value))).toBeDefined();
      },
    ),
  );
  const config = parseDockerConfig('{"auths":{"__proto__":{"username":"a","password":"b"}}}');
  expect(config?.logins.get('toString')).toBeUndefined();
});
