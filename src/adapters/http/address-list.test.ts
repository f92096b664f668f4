import { expect, test } from 'vitest';
import { createAddressList, splitHost } from './agents.ts';

const list = createAddressList([
  '10.0.0.0/8',
  '192.168.1.5',
  'fd00::/8',
  'host.example',
  '1.2.3.4/33',
  '1.2.3.4/x',
  '',
]);

test.each([
  ['10.1.2.3', true],
  ['11.1.2.3', false],
  ['192.168.1.5', true],
  ['192.168.1.6', false],
  ['fd12::1', true],
  ['::ffff:10.1.2.3', true],
  ['fe80::1', false],
  ['1.2.3.4', false],
  ['host.example', false],
  ['', false],
])('%s in the list: %s', (address, isIn) => {
  expect(list.contains(address)).toBe(isIn);
});

test('a list without any range is empty', () => {
  expect([createAddressList(['host', '1.2.3.4/99']).isEmpty, list.isEmpty]).toEqual([true, false]);
});

test.each([
  ['registry.test', 'registry.test', ''],
  ['Registry.Test:5000', 'registry.test', '5000'],
  ['127.0.0.1:5000', '127.0.0.1', '5000'],
  ['[::1]', '::1', ''],
  ['[::1]:5000', '::1', '5000'],
  ['a:b:c', '', ''],
])('splitHost(%s)', (host, name, port) => {
  expect(splitHost(host)).toEqual({ name, port });
});
