import type { ChildProcess } from 'node:child_process';
import { expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';

/**
 * Docker stores the container names of legacy links, and looks them up at its start. After a kill while such a container
 * is parked, it finds the successor, or no container.
 */
describeInLab('a linked container whose engine is killed in the middle of an update', (lab) => {
  const image = (name: string) => `${lab.registry.host}/links/${name}:stable`;
  const policy = { RestartPolicy: { Name: 'unless-stopped' } };
  const update = ['update', '--json', '--health-window', '200ms'];
  let stages = 0;

  async function stage(engine: LabEngine) {
    await engine.clear();
    for (const name of ['store', 'shop']) {
      await pushImage(lab.registry, `links/${name}`, 'stable', catalogue['plain-v1']);
      await engine.pull(image(name));
    }
    await engine.run('store', image('store'), { HostConfig: policy });
    const { Id } = await started(engine, { ...policy, Links: ['store:database'] });
    await pushImage(lab.registry, 'links/store', 'stable', catalogue['plain-v2']);
    stages += 1;
    const socketPath = `${lab.dir}/links-${stages}.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    return { id: Id, proxy, socketPath };
  }

  async function started(engine: LabEngine, HostConfig: object) {
    return (await engine.inspect(await engine.run('shop', image('shop'), { HostConfig })))!;
  }

  /** The container runs with its link, or the report names the missing link and the remedy works. */
  async function expectWell(engine: LabEngine, said: string) {
    for (const name of ['store', 'shop']) await engine.waitFor(name, ({ State }) => State.Running);
    const links = async () => (await engine.inspect('shop'))?.HostConfig['Links'] ?? [];
    const has = await links();
    const wanted = ['/store:/shop/database'];
    if (JSON.stringify(has) === JSON.stringify(wanted)) return expect(said).not.toContain('has lost its link');
    expect(said).toContain(String.raw`"shop" has lost its link "database", because the engine ended meanwhile`);
    await engine.stop();
    await engine.start();
    expect(await links()).toEqual(wanted);
  }

  test('comes back with its link, or the report says that it has none', async () => {
    const engine = await lab.startEngine({ name: 'links' });
    try {
      for (const at of [6, 8, 11, 13, 14]) {
        const { proxy, socketPath } = await stage(engine);
        let restarted = Promise.resolve();
        const kill = () => void (restarted = engine.kill().then(() => engine.start()));
        proxy.arm({ at, fault: { kind: 'kill', when: 'after', kill } });
        const { stdout } = await runUpkeep(update, { socket: socketPath });
        await restarted;
        await proxy.close();
        const { containers } = JSON.parse(stdout) as { containers: { reason: string }[] };
        await expectWell(engine, containers.map(({ reason }) => reason).join('\n'));
      }
    } finally {
      await engine.remove();
    }
  });

  test('is repaired by the next start where Upkeep died with it', async () => {
    const engine = await lab.startEngine({ name: 'links' });
    try {
      for (const at of [8, 13]) {
        const { proxy, socketPath } = await stage(engine);
        let child: ChildProcess | undefined;
        let restarted = Promise.resolve();
        const kill = () => {
          child?.kill('SIGKILL');
          restarted = engine.kill().then(() => engine.start());
        };
        proxy.arm({ at, fault: { kind: 'kill', when: 'after', kill } });
        await runUpkeep(update, { socket: socketPath, onStart: (begun) => (child = begun) });
        await restarted;
        await proxy.close();
        const repair = await runUpkeep(['run', '--run-once', '--monitor-only'], { socket: engine.socket });
        const said = repair.stderr
          .split('\n')
          .flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as { msg: string }).msg] : []));
        await expectWell(engine, said.join('\n'));
      }
    } finally {
      await engine.remove();
    }
  });
});
