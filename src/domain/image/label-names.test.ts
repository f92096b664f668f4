import { expect, test } from 'vitest';
import { containerOwnLabels } from './labels.ts';

test('ownLabels() leaves out what the image has with the same value', () => {
  const labels = { 'upkeep.scope': 'shop', 'upkeep.enable': 'false', maintainer: 'someone' };
  expect(containerOwnLabels(labels, { 'upkeep.scope': 'shop', 'upkeep.enable': 'true' })).toEqual({
    'upkeep.enable': 'false',
    maintainer: 'someone',
  });
});

test('ownLabels() leaves nothing of a container whose image is not known', () => {
  expect(containerOwnLabels({ 'upkeep.scope': 'shop' }, undefined)).toEqual({});
});

test('ownLabels() leaves out a journal that is the image’s altogether', () => {
  const journal = { 'upkeep.tx.v': '1', 'upkeep.tx.id': 'a', 'upkeep.tx.role': 'successor' };
  expect(containerOwnLabels({ ...journal, 'upkeep.scope': 'shop' }, journal)).toEqual({ 'upkeep.scope': 'shop' });
});

test('ownLabels() keeps a journal whole that shares values with a stale one of the image', () => {
  const stale = { 'upkeep.tx.v': '1', 'upkeep.tx.id': 'a', 'upkeep.tx.role': 'successor' };
  const written = { 'upkeep.tx.v': '1', 'upkeep.tx.id': 'b', 'upkeep.tx.role': 'successor' };
  expect(containerOwnLabels(written, stale)).toEqual(written);
});
