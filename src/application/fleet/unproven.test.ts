import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createFleetScene } from '../../../test/support/scene/fleet-scene.ts';
import { behaviours, type Behaviour } from '../../../sandbox/base/behaviour.ts';
import { parseWaves } from '../../domain/waves.ts';

const minute = 60_000;

/** `app` runs on `canary`, and on `web` in the next wave. */
async function openScene() {
  const clock = createFakeClock({ auto: true });
  const steps = parseWaves('canary');
  if ('fault' in steps) throw new Error(steps.fault);
  const scene = createFleetScene({ names: ['canary', 'web'], clock, waves: { steps, pauseMs: 10 * minute } });
  onTestFinished(() => scene.close());
  scene.registry.store.publish('app:1', { version: '1' });
  for (const name of ['canary', 'web']) await scene.run(name, 'app', 'app:1');
  const publish = (version: string, behaviour: Behaviour = behaviours.good) =>
    scene.registry.store.publish('app:1', { version, behaviour });
  async function update(...engines: readonly string[]): Promise<Record<string, string>> {
    const { containers } = await scene.application.update({ images: [], containers: [], engines, trigger: 'http' });
    return Object.fromEntries(containers.map(({ engine, outcome, reason }) => [engine, `${outcome} ${reason}`]));
  }
  return { ...scene, clock, publish, update };
}

describe('a version is held in the next wave', () => {
  test('if it has crashed since its update on the canary, until there is another one', async () => {
    const { publish, update, clock, engines } = await openScene();
    publish('2', { exitsAfterMs: 5 * minute, exitCode: 1 });
    expect(await update()).toMatchObject({ canary: 'updated ' });
    await clock.sleep(20 * minute);
    for (const _ of [1, 2])
      expect(await update()).toEqual({ web: 'deferred Waits for "app" on "canary", which does not run' });
    const own = engines['canary']?.sandbox.control.snapshot().containers['app']?.id ?? '';
    await engines['canary']?.sandbox.engine.removeContainer(own);
    expect(await update()).toEqual({ web: expect.stringMatching(/^updated|^rolled_back/) });
  });

  test.each(['preparing', 'stopping', 'starting', 'checking health'])(
    'while the canary is being updated: %s',
    async (phase) => {
      const { publish, update, application } = await openScene();
      publish('2');
      let second: Promise<Record<string, string>> | undefined;
      application.subscribe((event) => {
        if (event.kind === 'phase_entered' && event.phase === phase) second ??= update('web');
      });
      expect(await update('canary')).toEqual({ canary: 'updated ' });
      expect(await second).toEqual({ web: expect.stringMatching(/^deferred Waits for "canary"/) });
    },
  );
});

test('a job that has ended well on the canary holds nothing', async () => {
  const { publish, update, clock } = await openScene();
  publish('2', { exitsAfterMs: 5 * minute, exitCode: 0 });
  expect(await update()).toMatchObject({ canary: 'updated ' });
  await clock.sleep(20 * minute);
  expect(await update()).toEqual({ web: expect.stringMatching(/^updated/) });
});

test('a stopped container with an earlier version holds nothing', async () => {
  const { publish, update, clock, run, engines } = await openScene();
  const id = await run('canary', 'old', 'app:1');
  await engines['canary']?.sandbox.engine.stopContainer(id, { timeoutSeconds: 1 });
  publish('2');
  expect(await update()).toMatchObject({ canary: 'updated ' });
  await clock.sleep(11 * minute);
  expect(await update('web')).toEqual({ web: 'updated ' });
});
