import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { createDockerEngine } from '../../../../src/adapters/docker/engine.ts';
import { createOciRegistry } from '../../../../src/adapters/oci/registry.ts';
import { createProber } from '../../../../src/adapters/probe/prober.ts';
import { createSystemClock } from '../../../../src/adapters/process/clock.ts';
import { createInstance } from '../../../../src/adapters/process/instance.ts';
import { createApplication } from '../../../../src/application/create-application.ts';
import { defaultSettings } from '../../../../src/domain/settings/effective-settings.ts';
import { webServer } from '../../../lab/registry/catalogue.ts';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { silentLog } from '../../../support/test-log.ts';
import { effectsScene, idsOf } from '../scene.ts';

const cooldownMs = 4000;
const created = (ageMs: number) => new Date(Date.now() - ageMs).toISOString();

describeInLab('a cooldown', (lab) => {
  const { engine } = lab;
  const { run, push, inspect } = effectsScene(lab, 'cooldown');
  afterEach(() => engine.clear());

  /** The service as one process, for several runs. */
  function begin(): () => Promise<string> {
    const clock = createSystemClock();
    const docker = createDockerEngine({ host: `unix://${engine.socket}`, clock });
    const insecureRegistries = () => Promise.resolve(['127.0.0.0/8']);
    const oci = createOciRegistry({ clock, version: 'test', insecureRegistries });
    const application = createApplication(
      {
        engine: docker,
        registry: oci,
        prober: createProber(),
        clock,
        log: silentLog,
        instance: createInstance(),
        newId: randomUUID,
      },
      { ...defaultSettings, healthWindowMs: 200, cooldownMs },
    );
    onTestFinished(async () => {
      await Promise.all([docker.close(), oci.close()]);
    });
    return async () => {
      const { containers } = await application.update({ trigger: 'schedule', images: [], containers: [] });
      return containers.map(({ outcome, reason }) => (outcome === 'failed' ? reason : outcome)).join();
    };
  }

  test.each([
    ['built long ago', () => created(86_400_000), 'updated'],
    ['built just now', () => created(0), 'deferred'],
    ['from the future', () => created(-86_400_000), 'deferred'],
    ['without a date', () => '0001-01-01T00:00:00Z', 'deferred'],
  ])('at the first look, an image %s', async (_, dateOf, outcome) => {
    await run('web');
    await push('web', { ...webServer('v2'), created: dateOf() });
    const update = begin();
    expect(await update()).toBe(outcome);
    if (outcome === 'updated') return;
    await sleep(cooldownMs);
    expect(await update()).toBe('updated');
  });

  test('counts from when an image was seen to come, and the label overrides the option', async () => {
    await run('web');
    await run('eager', { config: { Labels: { 'upkeep.cooldown-delay': '0' } } });
    const update = begin();
    expect(await update()).toBe('fresh,fresh');
    for (const name of ['web', 'eager']) await push(name, webServer('v2'));
    expect((await update()).split(',').toSorted()).toEqual(['deferred', 'updated']);
    await sleep(cooldownMs);
    expect((await update()).split(',').toSorted()).toEqual(['fresh', 'updated']);
  });

  test('lets through an earlier image of a tag that never rests, and only forward', async () => {
    await run('web');
    const update = begin();
    await update();
    const pushed: (readonly string[])[] = [];
    const applied: number[] = [];
    for (let release = 0; release < 16 && applied.length < 2; release += 1) {
      pushed.push(idsOf(await push('web', { ...webServer(`release ${release}`), created: created(0) })));
      const outcome = await update();
      const { Image } = await inspect('web');
      if (outcome === 'updated') applied.push(pushed.findIndex((ids) => ids.includes(Image)));
      else expect(outcome).toBe('deferred');
      await sleep(1000);
    }
    expect(applied).toHaveLength(2);
    expect(applied[0]).toBeGreaterThanOrEqual(0);
    expect(applied[1]).toBeGreaterThan(applied[0] ?? 0);
    expect(applied[1]).toBeLessThan(pushed.length - 1);
  });
});
