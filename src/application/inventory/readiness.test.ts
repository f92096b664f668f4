import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { createReadiness } from './status.ts';

describe('createReadiness()', () => {
  test('resolves when the engine answers, and throws why when it cannot be reached', async () => {
    const { sandbox, startProcess } = createSandboxScene();
    const ready = createReadiness(startProcess().outside);
    await ready();
    sandbox.control.stopEngine('crash');
    await expect(ready()).rejects.toMatchObject({ code: 'engine-unreachable' });
    sandbox.control.startEngine();
    await ready();
  });

  test('does not wait longer than five seconds, and gives the call up', async () => {
    const { outside } = createSandboxScene().startProcess();
    const clock = createFakeClock();
    const signals: (AbortSignal | undefined)[] = [];
    const ping = (signal?: AbortSignal) => {
      signals.push(signal);
      return new Promise<void>(() => {});
    };
    const ready = createReadiness({ engine: { ...outside.engine, ping }, clock });
    const asked = expect(ready()).rejects.toMatchObject({ code: 'timeout' });
    await clock.advance(4999);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    await asked;
    expect(signals[0]?.aborted).toBe(true);
    expect(clock.sleepers()).toBe(0);
  });

  test('an engine that comes back after it said nothing is ready within a second, for those who asked before too', async () => {
    const { outside } = createSandboxScene().startProcess();
    const clock = createFakeClock();
    let isBack = false;
    const ping = () => (isBack ? Promise.resolve() : new Promise<void>(() => {}));
    const asked = createReadiness({ engine: { ...outside.engine, ping }, clock })();
    await clock.advance(300);
    isBack = true;
    await clock.advance(1000);
    await asked;
    expect(clock.sleepers()).toBe(0);
  });

  test('asks once for all who want to know at the same time; each may stop waiting', async () => {
    const { outside } = createSandboxScene().startProcess();
    let [pings, answer] = [0, () => {}];
    const ping = () => {
      pings += 1;
      return new Promise<void>((resolve) => (answer = resolve));
    };
    const ready = createReadiness({ engine: { ...outside.engine, ping }, clock: createFakeClock() });
    const impatient = new AbortController();
    const [patient, given] = [ready(), ready(impatient.signal)];
    impatient.abort();
    await expect(given).rejects.toMatchObject({ code: 'cancelled' });
    answer();
    await patient;
    expect(pings).toBe(1);
    const again = ready();
    answer();
    await again;
    expect(pings).toBe(2);
  });
});
