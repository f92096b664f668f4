import { expect, test } from 'vitest';
import type { Platform } from '../image/platform.ts';
import { newPlatforms } from './service-verdict.ts';

const on = (architecture: string, variant = ''): Platform => ({ os: 'linux', architecture, variant });

test.each([
  ['a spec without platforms stays without', undefined, [on('amd64')], undefined],
  ['an empty list means any, and stays', [], [on('amd64')], undefined],
  ['platforms that nobody tells change nothing', [on('amd64')], [], undefined],
  ['the same in another order change nothing', [on('amd64'), on('arm64')], [on('arm64'), on('amd64')], undefined],
  ['an index for less replaces them', [on('amd64'), on('arm64')], [on('amd64')], [on('amd64')]],
  ['an index for others of the same number replaces them', [on('amd64')], [on('arm64')], [on('arm64')]],
  ['arm is written without its architecture', [on('')], [on('arm', 'v6'), on('arm', 'v7')], undefined],
] as const)('newPlatforms(): %s', (_, written, offered, expected) => {
  expect(newPlatforms(written, offered)).toEqual(expected);
});
