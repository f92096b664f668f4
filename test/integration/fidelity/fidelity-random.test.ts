import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import { comparable, withoutPins } from './comparable.ts';
import { images } from './images.ts';
import { randomBody } from './random-body.ts';
import { createScene } from './scene.ts';

/** `UPKEEP_FIDELITY_RUNS=1000 npm run lab -- npx vitest run --project integration test/integration/fidelity/fidelity-random.test.ts` runs more cases. */
const { UPKEEP_FIDELITY_RUNS: wanted } = process.env;
const runs = Number(wanted ?? 25);
/** The same bodies each time, unless the variable asks for new ones. */
const chance = wanted === undefined ? { seed: 1 } : {};

describeInLab('a successor on a real engine', (lab) => {
  const engine = createDockerEngine({ host: `unix://${lab.engine.socket}`, clock: createSystemClock() });
  const scene = createScene(lab, engine);

  beforeAll(async () => {
    const spec = images['one'];
    await pushImage(lab.registry, 'fidelity', 'one', spec);
    await lab.engine.pull(`${lab.registry.host}/fidelity:one`);
    await lab.engine.call('POST', '/networks/create', { Name: 'front' });
  });
  afterEach(scene.clear);
  afterAll(async () => {
    await engine.close();
    await lab.engine.clear();
  });

  test(
    'is as its predecessor was, whatever that was, over three generations',
    { timeout: 3_600_000 },
    async (context) => {
      if (isPodman) skipBecause(context, 'what Podman does not show is told shape by shape');
      const tally = { made: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(randomBody, async (body) => {
          const shape = { name: 'random', body, created: true } as const;
          const first = await scene.create(shape, 'subject', 'one').catch(() => undefined);
          tally[first === undefined ? 'refused' : 'made'] += 1;
          // A body that the engine refuses does not exist in practice.
          if (first !== undefined) {
            const second = await scene.succeed(first, 'one', 'one');
            expect(configured(second.raw)).toEqual(configured(first.raw));
            const third = await scene.succeed(second, 'one', 'one');
            expect(comparable(third.raw)).toEqual(comparable(second.raw));
          }
          await scene.clear();
        }),
        { numRuns: runs, ...chance },
      );
      console.log(
        `RESULT random settings: ${tally.made} containers, each with two successors as it is itself; ${tally.refused} bodies refused by the engine`,
      );
      // Two of five bodies are refused. With many more refusals the test would cover little. Other bodies have a random
      // number of refusals.
      expect(tally.made).toBeGreaterThan(wanted === undefined ? tally.refused : runs / 5);
    },
  );
});

/** The restart policy is restored only at the commit of an update. */
function configured(raw: Inspected) {
  const { HostConfig, ...rest } = withoutPins(comparable(raw)) as { readonly HostConfig: object };
  return { ...rest, HostConfig: { ...HostConfig, RestartPolicy: undefined } };
}
