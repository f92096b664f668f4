import { setMaxListeners } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createFleetScene, type FleetScene, type FleetSceneOptions } from '../../../test/support/scene/fleet-scene.ts';
import { parseWaves } from '../../domain/waves.ts';

const all = { images: [], containers: [], trigger: 'http' } as const;
const six = ['canary-1', 'canary-2', 'one', 'two', 'three', 'four'];
const minute = 60_000;

function openFleet(
  options: Partial<FleetSceneOptions> = {},
): FleetScene & { readonly clock: FleetSceneOptions['clock'] } {
  const clock = createFakeClock({ auto: true });
  const steps = parseWaves('canary-.*, 50%, 100%');
  if ('fault' in steps) throw new Error(steps.fault);
  const scene = createFleetScene({ names: six, clock, waves: { steps, pauseMs: 10 * minute }, ...options });
  onTestFinished(() => scene.close());
  return { ...scene, clock };
}

async function runEverywhere(scene: FleetScene): Promise<string> {
  const { digest } = scene.registry.store.publish('app:1', { version: '1' });
  for (const name of six) await scene.run(name, 'app', 'app:1');
  return digest;
}

async function outcomes(scene: FleetScene, request: object = {}) {
  const { containers } = await scene.application.update({ ...all, ...request });
  return Object.fromEntries(
    containers.map(({ engine = '', outcome, reason }) => [engine, `${outcome} ${reason}`.trim()]),
  );
}

describe('waves', () => {
  test('a good version passes through them with the pause kept, a run through all that are eligible', async () => {
    const scene = openFleet();
    await runEverywhere(scene);
    scene.registry.store.publish('app:1', { version: '2' });
    expect(await outcomes(scene)).toEqual({
      'canary-1': 'updated',
      'canary-2': 'updated',
      one: expect.stringMatching(/^deferred Waits for "canary-[12]", which has run it for 0 of 10 minutes$/),
      two: expect.stringMatching(/^deferred Waits/),
      three: expect.stringMatching(/^deferred Waits/),
      four: expect.stringMatching(/^deferred Waits/),
    });
    await scene.clock.sleep(5 * minute);
    expect((await outcomes(scene))['one']).toContain('for 5 of 10 minutes');
    await scene.clock.sleep(6 * minute);
    // 50% of six engines are three. Two of them are canaries.
    const second = await outcomes(scene);
    expect(second['one']).toBe('updated');
    expect(second['two']).toContain('deferred Waits for "one"');
    await scene.clock.sleep(11 * minute);
    expect(Object.values(await outcomes(scene)).filter((outcome) => outcome === 'updated')).toHaveLength(3);
  });

  test('a bad version touches the canaries alone, and the others say on which it was taken back', async () => {
    const scene = openFleet();
    await runEverywhere(scene);
    scene.registry.store.publish('app:1', { version: '2', behaviour: { exitsAfterMs: 10, exitCode: 1 } });
    const first = await outcomes(scene);
    expect([first['canary-1'], first['canary-2']].every((outcome) => outcome?.startsWith('rolled_back'))).toBe(true);
    await scene.clock.sleep(20 * minute);
    const second = await outcomes(scene);
    for (const name of ['one', 'two', 'three', 'four'])
      expect(second[name]).toBe('deferred Was rolled back on "canary-1"');
    expect(scene.events.filter(({ kind }) => kind === 'update_started').map(({ engine }) => engine)).toEqual(
      expect.not.arrayContaining(['one', 'two', 'three', 'four']),
    );
    const { containers } = await scene.application.check(all);
    expect(containers.find(({ engine }) => engine === 'one')).toMatchObject({ status: 'held', hold: 'wave' });
  });

  test('the last wave gets what the first has proven, though the tag has moved on', async () => {
    const scene = openFleet();
    await runEverywhere(scene);
    const built = (day: number) => Date.UTC(2026, 5, day);
    const proven = scene.registry.store.publish('app:1', { version: '2', createdAtMs: built(1) }).digest;
    await outcomes(scene);
    await scene.clock.sleep(11 * minute);
    scene.registry.store.publish('app:1', { version: '3', createdAtMs: built(2) });
    const { containers } = await scene.application.update({ ...all, engines: ['one'] });
    expect(containers).toMatchObject([{ engine: 'one', outcome: 'updated', newDigest: proven }]);
  });

  test('a wave of which nobody answers proves nothing, and --ignore-waves waits for nobody', async () => {
    const scene = openFleet();
    await runEverywhere(scene);
    await scene.application.follow();
    scene.registry.store.publish('app:1', { version: '2' });
    for (const name of ['canary-1', 'canary-2']) scene.engines[name]?.behave('refusing');
    expect((await outcomes(scene))['one']).toBe(
      'deferred Wave 1 proves nothing, because "canary-1", "canary-2" cannot be reached',
    );
    const hurried = await outcomes(scene, { ignoreWaves: true });
    expect([hurried['one'], hurried['four']]).toEqual(['updated', 'updated']);
  });

  test('a dry run that ignores waves plans for all of them, and shows their containers as held', async () => {
    const scene = openFleet();
    await runEverywhere(scene);
    await scene.application.follow();
    scene.registry.store.publish('app:1', { version: '2' });
    await outcomes(scene);
    const { plan } = await scene.application.plan({ ...all, ignoreWaves: true });
    expect(plan.transactions).toHaveLength(4);
    const told = scene.events.findLast((event) => event.kind === 'container_checked' && event.engine === 'four');
    expect(told).toMatchObject({ status: 'held', checked: { hold: 'wave' } });
    const four = scene.application.inventory().containers.find(({ engine }) => engine === 'four');
    expect(four).toMatchObject({ staleness: 'held', hold: 'wave' });
  });

  test('a service that starts during the pause of a wave begins the next wave at its end', async () => {
    const scene = openFleet();
    scene.registry.store.publish('app:1', { version: '1' });
    for (const name of six.slice(2)) await scene.run(name, 'app', 'app:1');
    scene.registry.store.publish('app:1', { version: '2' });
    for (const name of six.slice(0, 2)) await scene.run(name, 'app', 'app:1');
    const startedAtMs = scene.clock.nowMs();
    const stop = stopOfProcess();
    scene.application.subscribe(({ kind }) => {
      if (kind === 'scan_completed') stop.abort();
    });
    const schedule = { kind: 'interval', words: 'every 6h', everyMs: 360 * minute } as const;
    await scene.application.keepUpdating({ schedule, updateOnStart: false }, stop.signal);
    const begun = scene.events.flatMap((event) => (event.kind === 'update_started' ? [event] : []));
    expect(begun.map(({ engine }) => engine)).toEqual(['one']);
    expect(begun[0]?.atMs).toBeLessThan(startedAtMs + 12 * minute);
    expect(scene.events.filter(({ kind }) => kind === 'scan_started')).toHaveLength(1);
  });

  test('a stop during a wave leaves later waves alone, and says so for their engines', async () => {
    const scene = openFleet();
    await runEverywhere(scene);
    scene.registry.store.publish('app:1', { version: '2' });
    const stop = stopOfProcess();
    scene.application.subscribe(({ kind }) => {
      if (kind === 'update_completed') stop.abort();
    });
    const { engines = [] } = await scene.application.update(all, stop.signal);
    const last = engines.find(({ name }) => name === 'four');
    expect(last).toMatchObject({ result: 'failed', error: 'Cannot work on the engine: it was cancelled' });
    expect(scene.events.filter(({ kind, engine }) => kind === 'update_started' && engine === 'four')).toEqual([]);
  });
});

/** Every engine of a run listens to the signal of the process, for which `run-command.ts` allows that. */
function stopOfProcess(): AbortController {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  return stop;
}
