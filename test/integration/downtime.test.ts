import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

type Event = { readonly Action: string; readonly timeNano: number; readonly Actor: { readonly ID: string } };

/** Compared with the engine's own times of the signal, the exit and the start. */
describeInLab('the downtime that is reported', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/downtime/web:stable`;
  afterEach(() => engine.clear());

  test('counts from the signal, and tells apart how long the process took to end', async () => {
    const slow = webServer('slow to stop', {
      Cmd: ['sh', '-c', "trap 'sleep 3; exit 0' TERM; while :; do sleep 0.1; done"],
    });
    await pushImage(registry, 'downtime/web', 'stable', slow);
    await engine.pull(image);
    const old = await engine.run('web', image);
    await pushImage(registry, 'downtime/web', 'stable', catalogue['plain-v2']);
    const { stdout, code } = await runUpkeep(['update', '--json', '--health-window', '200ms'], {
      socket: engine.socket,
    });
    expect(code).toBe(0);
    const { containers } = JSON.parse(stdout) as { containers: Record<string, number>[] };

    const now = (await engine.inspect('web'))!;
    const signalledMs = await timeOf('kill', old);
    const stoppingMs = (await timeOf('die', old)) - signalledMs;
    const downtimeMs = Date.parse(now.State.StartedAt) - signalledMs;
    expect(stoppingMs).toBeGreaterThan(2_900);
    const { downtime_ms = 0, stopping_ms = 0, down_ms = 0 } = containers[0]!;
    // On a busy machine the signal follows the request with a delay.
    expect(Math.abs(downtime_ms - downtimeMs)).toBeLessThan(1500);
    expect(Math.abs(stopping_ms - stoppingMs)).toBeLessThan(1500);
    expect(down_ms).toBe(downtime_ms - stopping_ms);
  });

  test('of what is stopped at once has next to no part of stopping, which is not said', async () => {
    await pushImage(registry, 'downtime/web', 'stable', webServer('quick', { StopSignal: 'KILL' }));
    await engine.pull(image);
    await engine.run('web', image);
    await pushImage(registry, 'downtime/web', 'stable', catalogue['plain-v2']);
    const { stdout } = await runUpkeep(['update', '--health-window', '200ms'], { socket: engine.socket });
    expect(stdout).toMatch(/down for [\d.]+m?s(?:\n|, \d\d\dms of it stopping)/);
  });

  async function timeOf(action: string, id: string): Promise<number> {
    const filters = encodeURIComponent(JSON.stringify({ type: ['container'], event: [action], container: [id] }));
    // The engine takes whole seconds, and answers when they have passed.
    const untilS = Math.ceil(Date.now() / 1000);
    const { body } = await engine.call('GET', `/events?since=1&until=${untilS}&filters=${filters}`);
    const lines =
      typeof body === 'string'
        ? body
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as Event)
        : [body as Event];
    return lines[0]!.timeNano / 1e6;
  }
});
