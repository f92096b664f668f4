import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { median, reportRatio } from './rig/ratios.ts';

/** From the end of the old process to the start of the new one, by the engine's clock, against bare stop and start calls. */
describeInLab('downtime of an update', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/bench/web:stable`;
  const runs = 9;
  afterEach(() => engine.clear());

  const config = {
    HostConfig: {
      PortBindings: { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '18099' }] },
      RestartPolicy: { Name: 'unless-stopped' },
    },
  };

  test('in turn with the floor', async () => {
    const floors: number[] = [];
    const updates: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      floors.push(await bareStopAndStart());
      updates.push(await update());
    }
    reportRatio('downtime of an updated container with a published port', median(updates), median(floors), 1.2);
  });

  /** Stops one existing container and starts another. */
  async function bareStopAndStart(): Promise<number> {
    await engine.clear();
    await pushImage(registry, 'bench/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    const old = await engine.run('old', image, config);
    const next = await engine.create('next', image, config);
    await engine.call('POST', `/containers/${old}/stop`);
    await engine.call('POST', `/containers/${next}/start`);
    return gapMs(await stateOf(old), await stateOf(next));
  }

  async function update(): Promise<number> {
    await engine.clear();
    await pushImage(registry, 'bench/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, config);
    await pushImage(registry, 'bench/web', 'stable', catalogue['plain-v2']);
    const { stdout, stderr, code } = await runUpkeep(['update', '--json', '--health-window', '100ms'], {
      socket: engine.socket,
    });
    expect(code, stderr).toBe(0);
    const { containers } = JSON.parse(stdout) as { containers: { down_ms: number }[] };
    return containers[0]!.down_ms;
  }

  async function stateOf(id: string): Promise<{ StartedAt: string; FinishedAt: string }> {
    const { body } = await engine.call('GET', `/containers/${id}/json`);
    return (body as { State: { StartedAt: string; FinishedAt: string } }).State;
  }
});

function gapMs(old: { readonly FinishedAt: string }, next: { readonly StartedAt: string }): number {
  return Date.parse(next.StartedAt) - Date.parse(old.FinishedAt);
}
