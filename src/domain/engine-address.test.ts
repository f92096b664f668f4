import { expect, test } from 'vitest';
import { isEngineName, parseEngineAddress, repeatedNames } from './engine-address.ts';

test.each([
  ['unix:///var/run/docker.sock', 'local', 'unix:///var/run/docker.sock'],
  ['ssh://me@nas.example:2222', 'nas.example', 'ssh://me@nas.example:2222'],
  ['tcp://10.0.0.7:2376', '10.0.0.7', 'tcp://10.0.0.7:2376'],
  ['nas=ssh://me@nas.example', 'nas', 'ssh://me@nas.example'],
  ['box_1.a-b=unix:///run/a=b.sock', 'box_1.a-b', 'unix:///run/a=b.sock'],
  ['unix:///run/a=b.sock', 'local', 'unix:///run/a=b.sock'],
])('parseEngineAddress() reads %s', (text, name, host) => {
  expect(parseEngineAddress(text)).toEqual({ name, host });
});

test.each([
  ['=tcp://server:2376', 'its name is not'],
  ['-nas=tcp://server:2376', 'its name is not'],
  [`${'n'.repeat(64)}=tcp://server:2376`, 'its name is not'],
  ['nas=', 'not an address'],
  ['nas=server:2376', 'not an address'],
  ['tcp://[::1]:2376', 'write NAME=URL'],
  ['', 'not an address'],
  ['ssh://me:hunter2@nas', 'it holds a password'],
  ['ssh://me@nas:hunter2@nas', 'it holds a password'],
])('parseEngineAddress() says why it cannot read %j', (text, fault) => {
  expect(parseEngineAddress(text)).toMatchObject({ fault: expect.stringContaining(fault) });
});

test('isEngineName() takes what is safe in a label, a query and a table', () => {
  expect(['a', '9', 'a.b_c-D', 'n'.repeat(63)].every(isEngineName)).toBe(true);
  expect(['', '.a', '-a', '_a', 'a b', 'a\n', 'ä', 'a,b', 'a=b', 'n'.repeat(64)].some(isEngineName)).toBe(false);
});

test('repeatedNames() names each double once', () => {
  const engines = ['a', 'b', 'a', 'a', 'B'].map((name) => ({ name, host: 'unix:///x' }));
  expect(repeatedNames(engines)).toEqual(['a']);
});
