import { expect, test } from 'vitest';
import { digestOf, inspectedContainer } from '../../../test/support/scene/builders.ts';
import { defaultSettings } from '../settings/service-settings.ts';
import { buildDependencyGraph } from './graph/build-graph.ts';
import { planUpdate } from './update-plan.ts';

const count = 1000;

const namesFor = (place: number) =>
  Array.from({ length: 50 }, (_, next) => `app-${(place * 7 + next * 13 + 1) % count}`);

/** Half a second on an idle machine. A cost that grows with the square of the group takes 13 s there. */
const mostMs = 12_000;

test(
  '1,000 containers that each use the volumes of 50 others are planned as one group at once',
  { timeout: 60_000 },
  () => {
    const containers = Array.from({ length: count }, (_, place) =>
      inspectedContainer(`app-${place}`, { host: { VolumesFrom: namesFor(place) } }),
    );
    const stale = containers.map(({ id, name }) => ({ id, name, reference: `${name}:1`, digest: digestOf(name) }));
    const begun = performance.now();
    const { transactions } = planUpdate({
      stale,
      graph: buildDependencyGraph(containers, { useComposeDependsOn: true }),
      optedOut: new Map(),
      imageIds: new Set(containers.map(({ imageId }) => imageId)),
      ownId: undefined,
      settings: defaultSettings,
    });
    expect(transactions).toHaveLength(1);
    expect(performance.now() - begun).toBeLessThan(mostMs);
  },
);
