import { expect, test } from 'vitest';
import { aTrackedContainer } from '../../../test/support/scene/tracked-container.ts';
import type { TrackedContainer } from '../inventory/inventory.ts';
import { entitiesOf } from './entities.ts';

const newer = `sha256:${'b'.repeat(64)}`;
const stale: Partial<TrackedContainer> = { staleness: 'stale', stale: true, updateAvailable: true };

const empty = { revision: 1, known: true, scope: '', unfinished: [], images: [], updatesAvailable: 1 };

function versions(changes: Partial<TrackedContainer>) {
  const containers = [aTrackedContainer({ ...stale, ...changes })];
  const [entity] = entitiesOf({ ...empty, containers }, new Set())?.containers ?? [];
  return [entity?.installedVersion, entity?.latestVersion];
}

test('a service and the container of the same name are two entities, and only one is updated', () => {
  const service = aTrackedContainer({ id: 's', kind: 'service' });
  const shown = (containers: readonly TrackedContainer[]) =>
    entitiesOf({ ...empty, containers }, new Set(['web service']))?.containers.map(({ name, isUpdating }) => [
      name,
      isUpdating,
    ]);
  expect(shown([aTrackedContainer(), service])).toEqual([
    ['web', false],
    ['web service', true],
  ]);
  expect(shown([service])).toEqual([['web', true]]);
});

test('a service keeps its name while the container of the same name is replaced', () => {
  const containers = [aTrackedContainer({ id: 's', kind: 'service' })];
  const unfinished = [{ name: 'web', state: 'in progress', reason: '', image: 'nginx' }] as const;
  const shown = entitiesOf({ ...empty, containers, unfinished }, new Set());
  expect(shown?.containers.map(({ name }) => name)).toEqual(['web service']);
});

test('the newest version of a container that moves to a higher tag has that tag', () => {
  const moving = { candidate: 'nginx:1.28', candidateKind: 'minor', latestDigest: newer } as const;
  expect(versions(moving)).toEqual(['1.27 (aaaaaaaaaaaa)', '1.28 (bbbbbbbbbbbb)']);
});

test('an image that only the engine has is a newer version too', () => {
  expect(versions({ noPull: true, digest: '', candidateDigest: newer })).toEqual([
    '1.27 (iiiiiiiiiiii)',
    '1.27 (bbbbbbbbbbbb)',
  ]);
});

test('versions are those of the page, the digest tells two images of one version apart', () => {
  expect(versions({ version: '1.27.3', latestVersion: '1.27.4', latestDigest: newer })).toEqual([
    '1.27.3 (aaaaaaaaaaaa)',
    '1.27.4 (bbbbbbbbbbbb)',
  ]);
  expect(versions({ version: 'aaaaaaaaaaaa', latestVersion: '1.27.4', latestDigest: newer })).toEqual([
    '1.27 (aaaaaaaaaaaa)',
    '1.27.4 (bbbbbbbbbbbb)',
  ]);
});
