import { describe, expect, test } from 'vitest';
import { containerSummary, imageSummary, type SummaryParts } from '../../test/support/scene/builders.ts';
import {
  emptyListing,
  type EngineListing,
  isOrderInDoubt,
  withAllContainers,
  withImages,
  withReferences,
  withSomeContainers,
} from './inventory.ts';

const second = (number: number): SummaryParts => ({ createdAtMs: number * 1000 });
const [old, young] = [containerSummary('old', second(1)), containerSummary('young', second(2))];
const both = withAllContainers(emptyListing, [young, old]);
const names = ({ containers }: EngineListing) => containers.map(({ name }) => name);
const again = (listing: EngineListing, ...containers: Parameters<typeof withAllContainers>[1]) =>
  withSomeContainers(listing, new Set(containers.map(({ id }) => id)), containers);

describe('a listing in memory', () => {
  test('is newest first, whatever order an engine has', () => {
    expect(names(withAllContainers(emptyListing, [old, young]))).toEqual(['young', 'old']);
    expect(names(again(withAllContainers(emptyListing, [old]), young))).toEqual(['young', 'old']);
    expect(names(again(withAllContainers(emptyListing, [young]), old))).toEqual(['young', 'old']);
  });

  test('is the same object, with the same objects in it, when nothing has changed', () => {
    const copy = (container: typeof old) => ({ ...container, labels: { ...container.labels } });
    expect(withAllContainers(both, [copy(young), copy(old)])).toBe(both);
    expect(again(both, copy(old))).toBe(both);
    const renamed = again(both, { ...copy(old), name: 'renamed' });
    expect(renamed.containers[0]).toBe(both.containers[0]);
    expect(renamed.containers[1]?.labels).toBe(old.labels);
    const images = [imageSummary('sha256:1', { tags: ['a:1'] })];
    const listing = withImages(both, images);
    expect(withImages(listing, [imageSummary('sha256:1', { tags: ['a:1'] })])).toBe(listing);
    expect(withImages(listing, [imageSummary('sha256:1', { tags: ['a:2'] })])).not.toBe(listing);
  });

  test('loses what was asked for and not found, and nothing else', () => {
    expect(names(withSomeContainers(both, new Set([old.id]), []))).toEqual(['young']);
    expect(names(withAllContainers(both, [old]))).toEqual(['old']);
  });

  test('keeps what a container was created from when the list shows no more than its id', () => {
    const moved = again(both, { ...old, image: old.imageId, name: 'renamed' });
    expect(moved.containers[1]).toMatchObject({ name: 'renamed', image: 'old:1' });
    const unknown = withAllContainers(emptyListing, [{ ...old, image: old.imageId }]);
    expect(withReferences(unknown, new Map([[old.id, 'old:1']])).containers[0]?.image).toBe('old:1');
    expect(withReferences(unknown, new Map())).toBe(unknown);
  });

  test('doubts the order of what came one after the other in the same second', () => {
    const twin = containerSummary('twin', second(2));
    expect(isOrderInDoubt(both, again(both, twin))).toBe(true);
    expect(isOrderInDoubt(both, again(both, containerSummary('new', second(3))))).toBe(false);
    expect(isOrderInDoubt(both, again(both, { ...old, name: 'renamed' }))).toBe(false);
    expect(isOrderInDoubt(emptyListing, again(emptyListing, twin, young))).toBe(false);
  });
});
