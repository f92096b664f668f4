import { expect, test } from 'vitest';
import { signers } from './signers.ts';

test.each([
  ['any', { kind: 'any' }],
  ['OFF', { kind: 'off' }],
  ['team', { kind: 'keys', names: ['team'] }],
  ['team, ops, team', { kind: 'keys', names: ['team', 'ops'] }],
  ['Müller 2', { kind: 'keys', names: ['Müller 2'] }],
  ['', undefined],
  ['a,,b', undefined],
  ['keys/team', undefined],
  ['a\u0007', undefined],
  [Array.from({ length: 21 }, (_, at) => at).join(','), undefined],
])('signers read %j', (text, expected) => expect(signers.parse(text)).toEqual(expected));
