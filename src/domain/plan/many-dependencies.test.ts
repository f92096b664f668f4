import { expect, test } from 'vitest';
import { digestOf, inspectedContainer } from '../../../test/support/scene/builders.ts';
import { defaultSettings } from '../settings/effective-settings.ts';
import { buildDependencyGraph } from './dependency-graph.ts';
import { planUpdate } from './update-plan.ts';

const count = 6000;

const namesFor = (place: number) =>
  Array.from({ length: 6 }, (_, next) => `app-${(place * 7 + next * 13 + 1) % count}`);

// A cost that grows with the square of the group takes longer than a test may.
test('6,000 containers that each use the volumes of 6 others are planned as one group at once', () => {
  const containers = Array.from({ length: count }, (_, place) =>
    inspectedContainer(`app-${place}`, { host: { VolumesFrom: namesFor(place) } }),
  );
  const stale = containers.map(({ id, name }) => ({ id, name, reference: `${name}:1`, digest: digestOf(name) }));
  const { transactions } = planUpdate({
    stale,
    graph: buildDependencyGraph(containers, { useComposeDependsOn: true }),
    optedOut: new Map(),
    doors: new Map(),
    imageIds: new Set(containers.map(({ imageId }) => imageId)),
    ownId: undefined,
    settings: defaultSettings,
  });
  expect(transactions.map(({ members }) => members.length)).toEqual([count]);
});
