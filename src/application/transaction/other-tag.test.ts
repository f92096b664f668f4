import { describe, expect, test } from 'vitest';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';
import { listAll } from '../engine/listing.ts';
import { createPlanner } from '../check/make-plan.ts';
import { runPlan } from '../update/run-plan.ts';

const settings = { ...defaultSettings, healthWindowMs: 1000 };

/** Updates `api` from `shop/api:7` to `shop/api:8` with a fault, and then recovers in a new process. */
async function updateToOtherTag(behaviour: 'good' | 'crashesAtStart', faults: readonly PlannedFault[]) {
  const scene = createSandboxScene();
  const { control, engine } = scene.sandbox;
  const { store } = scene.registry;
  store.publish('shop/api:7', { version: '7' });
  await engine.pullImage({ reference: 'shop/api:7' });
  const id = control.runContainer('api', {
    Image: 'shop/api:7',
    HostConfig: { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } },
  });
  const { digest } = store.publish('shop/api:8', { version: '8', behaviour: behaviours[behaviour] });
  const connection = scene.sandbox.connect({ faults });
  const { outside } = scene.startProcess(connection);
  let outcome: string | undefined;
  await scene.clock
    .run(async () => {
      const stale = [{ id, name: 'api', reference: 'shop/api:8', digest }];
      const { plan } = await createPlanner(outside, settings)(stale, await listAll(outside, undefined));
      const outcomes = await runPlan(outside, settings, plan, { runId: 'run' });
      outcome = outcomes.get(id)?.outcome;
    })
    // A killed process has no answer.
    .catch(() => undefined);
  connection.crash();
  await scene.clock.run(() => createApplication(scene.startProcess().outside, settings).recover());
  const { containers, tags } = control.snapshot();
  const left = Object.entries(containers).map(
    ([
      name,
      {
        running,
        settings: { Config },
      },
    ]) => [name, running ? 'runs' : 'stands', Config.Image].join(' '),
  );
  return { outcome, left, tags: Object.keys(tags).filter((tag) => tag.startsWith('shop/')) };
}

describe('an update to another tag', () => {
  test('leaves the container with the new reference, and both tags', async () => {
    const { outcome, left, tags } = await updateToOtherTag('good', []);
    expect(outcome).toBe('updated');
    expect(left).toEqual(['api runs shop/api:8']);
    expect(tags).toEqual(['shop/api:7', 'shop/api:8']);
  });

  test('that fails returns to the old reference', async () => {
    const { outcome, left } = await updateToOtherTag('crashesAtStart', []);
    expect(outcome).toBe('rolled_back');
    expect(left).toEqual(['api runs shop/api:7']);
  });

  const points = (['good', 'crashesAtStart'] as const).flatMap((behaviour) =>
    (['before', 'during', 'after'] as const).flatMap((when) =>
      Array.from({ length: 13 }, (_, at) => ({ behaviour, when, at: at + 1 })),
    ),
  );
  test.each(points)('$behaviour, killed $when call $at, leaves one container, and it runs', async (point) => {
    const { behaviour, when, at } = point;
    const { left } = await updateToOtherTag(behaviour, [{ at, fault: { kind: 'crash', when } }]);
    expect(left).toHaveLength(1);
    expect(left[0]).toMatch(behaviour === 'good' ? /^api runs shop\/api:[78]$/ : /^api runs shop\/api:7$/);
  });
});
