import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { startUpkeep } from '../../../support/scene/run-upkeep.ts';
import { effectsScene, idsOf } from '../scene.ts';

/** A time that Tokyo reaches before UTC, all year. */
const hoursAhead = 9;

describeInLab('when the service updates', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'when');
  afterEach(() => engine.clear());

  /** The service, which is stopped at the end of the test. */
  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const service = startUpkeep(['run', '--health-window', '200ms', ...args], { socket: engine.socket, env });
    onTestFinished(async () => {
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
    });
    return service;
  }

  test('with --update-on-start at once, and not only when the interval is over', async () => {
    const { next } = await stale('web');
    const service = start(['--update-on-start', '--interval', '1h']);
    await service.seen('web: updated');
    expect(idsOf(next)).toContain((await inspect('web')).Image);
  });

  test('by --schedule, in the hours of the time zone TZ', async () => {
    const { next } = await stale('web');
    const hour = (new Date().getUTCHours() + hoursAhead) % 24;
    const schedule = ['--schedule', `* * ${hour},${(hour + 1) % 24} * * *`];
    const elsewhere = start(schedule, { TZ: 'UTC' });
    await elsewhere.seen('Next update in');
    const there = start(schedule, { TZ: 'Asia/Tokyo' });
    await there.seen('web: updated');
    expect(idsOf(next)).toContain((await inspect('web')).Image);
    expect(elsewhere.output()).not.toContain('web');
  });
});
