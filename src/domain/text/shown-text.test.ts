import { expect, test } from 'vitest';
import { isPlainPath, withoutSecretParts } from './hidden-secrets.ts';

test.each([
  ['http://me:hunter2@h/', 'http://***@h/'],
  ['http://hunter2@h', 'http://***@h'],
  ['http://me:a@hunter2@h', 'http://***@h'],
  ['http://me:hunter2/x y,z\r\n@h', 'http://***@h'],
  ['http://me:hunter2', 'http://me:***'],
  ['http://h/?token=hunter2', 'http://h/?***'],
  ['http://h?hunter2', 'http://h?***'],
  ['http://h/#hunter2', 'http://h/#***'],
  ['http://h/;token=hunter2', 'http://h/;token=***'],
  ['h/?key=hunter2', 'h/?***'],
  ['exec:ping password=hunter2', 'exec:ping password=***'],
  ['me:hunter2@h', '***@h'],
  ['n=ssh://me@x:hunter2@h', 'n=ssh://***@h'],
  ['SSH://me%3Ahunter2@h', 'SSH://***@h'],
  ['ssh://me@a,tcp://me:hunter2@h', 'ssh://***@h'],
  ['me:hun ter2@h', '***@h'],
  ['unix:///run/a,tcp://me:hunter2@h', 'unix://***@h'],
  ['-----BEGIN PRIVATE KEY-----\nhunter2', '***'],
])('of %j people see %j', (text, shown) => {
  expect(withoutSecretParts(text)).toBe(shown);
});

test.each([
  'ssh://me@h:22',
  'nas=SSH://me@h',
  'nas=ssh://me@nas:22,typo,pi=ssh://you@pi',
  'unix:///run/user@1000/docker.sock',
  'me@example.com',
  'TZ=:Europe/Berlin @dayly',
  `app:1@sha256:${'a'.repeat(64)}`,
  `app:1@sha512:${'a'.repeat(128)}`,
  'app:1@sha256abc,app:2',
  'http://server:8080/path',
  'tcp://[fe80::1]:2375',
  'near=tcp://a:1,far=tcp://b:2',
  '^v(?:1|2)\\.x?$',
  '/run/secrets/token',
  '',
])('%j is shown as it is', (text) => {
  expect(withoutSecretParts(text)).toBe(text);
});

test('a path is shown, the content of a file is not', () => {
  const paths = ['key', './key.pem', '/run/secrets/upkeep-journal-key', 'secrets/upkeep-journal-key-2024'];
  for (const path of [...paths, '~/keys/team.pub', 'C:\\keys\\a.pem']) expect(isPlainPath(path)).toBe(true);
  const secrets = [
    'hunter2\nhunter2',
    '{"auths":{}}',
    '0123456789abcdef0123456789abcdef',
    'aHVudGVyMmh1bnRlcjJodW50ZXIy/+==',
    'aHVudGVyMmh1bnRlcjJodW50ZXIy-_==',
  ];
  for (const content of [...secrets, '-----BEGIN PRIVATE KEY-----', 'http://me:hunter2@h'])
    expect(isPlainPath(content)).toBe(false);
});
