import type { ChildProcess } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';

describeInLab('an update that was killed before its clean-up', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/cleanup/web:stable`;
  const args = ['update', '--cleanup', '--health-window', '200ms'];
  afterEach(() => engine.clear());

  test('the next run removes the old image, which only the label of the new container names', async () => {
    await pushImage(registry, 'cleanup/web', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    const old = (await engine.inspect(await engine.run('web', image)))!.Image;
    await pushImage(registry, 'cleanup/web', 'stable', catalogue['plain-v2']);
    const socketPath = `${lab.dir}/cleanup.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    let child: ChildProcess | undefined;
    proxy.arm({
      at: ({ method, path, change }) => change !== undefined && method === 'DELETE' && path.includes('/images/'),
      fault: { kind: 'kill', when: 'before', kill: () => void child?.kill('SIGKILL') },
    });
    await runUpkeep(args, { socket: socketPath, onStart: (begun) => (child = begun) });
    await proxy.close();
    expect((await engine.inspect('web'))?.Image).not.toBe(old);
    expect(await holds(old)).toBe(true);

    const next = await runUpkeep(args, { socket: engine.socket });
    expect(next.code).toBe(0);
    expect(await holds(old)).toBe(false);
    expect((await engine.inspect('web'))?.State.Running).toBe(true);
  });

  async function holds(id: string): Promise<boolean> {
    return (await engine.call('GET', `/images/${id}/json`)).status === 200;
  }
});
