import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { ImageSpec } from '../lab/registry/image.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { deploy } from './rig/deployed.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Node and the build are mounted, so that the image need not contain them. */
const mounts = [
  { Source: '/usr', Target: '/usr' },
  { Source: '/usr/lib', Target: '/lib' },
  { Source: '/usr/lib64', Target: '/lib64' },
  { Source: root, Target: '/app' },
].map((mount) => ({ Type: 'bind', ReadOnly: true, ...mount }));

const upkeep = (version: string): ImageSpec => ({
  config: { Entrypoint: ['/usr/bin/node', '/app/dist/main.js'], Env: ['PATH=/usr/bin:/bin', `APP_VERSION=${version}`] },
});

/** Upkeep runs in a service of its own swarm, with one task that is stopped first. */
describeInSwarm('the service that Upkeep runs in', {}, (swarm) => {
  async function deployUpkeep(failureAction: string) {
    const { socket } = swarm().node(1).engine;
    const deployed = await deploy(swarm(), 'upkeep', upkeep('v1'), {
      replicas: 1,
      update: { FailureAction: failureAction, Order: 'stop-first' },
      container: {
        Args: ['run', '--swarm', '--interval', '3s', '--health-window', '1s'],
        Mounts: [...mounts, { Type: 'bind', Source: socket, Target: '/var/run/docker.sock' }],
      },
      // The node's own network, so that the registry has the same address as for the engine.
      task: { Placement: { Constraints: ['node.hostname==n1'] }, Networks: [{ Target: 'host' }] },
    });
    /** The logs of all its containers so far. */
    const logs = async () => {
      const filters = encodeURIComponent(JSON.stringify({ label: ['com.docker.swarm.service.name=upkeep'] }));
      const list = await swarm().must<{ Id: string }[]>('GET', `/containers/json?all=1&filters=${filters}`);
      const texts = await Promise.all(
        list.map(({ Id }) => swarm().send({ path: `/containers/${Id}/logs?stdout=1&stderr=1` })),
      );
      return texts.map(({ text }) => text).join('\n');
    };
    return { ...deployed, logs };
  }

  test('is updated to a good version', async () => {
    const self = await deployUpkeep('rollback');
    const next = await self.publish(upkeep('v2'));
    const { service } = await swarm().until(
      self.id,
      ({ UpdateStatus }, tasks) => UpdateStatus?.State === 'completed' && runningTasks(tasks, next).length === 1,
    );
    expect(service.Spec.TaskTemplate.ContainerSpec.Image).toContain(next);
    expect(service.Spec.Labels?.['upkeep.tx.from']).toBe(self.image);
    await expect
      .poll(self.logs, { timeout: 120_000 })
      .toMatch(/Finished an interrupted update of upkeep|(?:earlier|interrupted) update w.*upkeep.*finished/);
  });

  test('comes back from a bad version, which it does not try again', async () => {
    const self = await deployUpkeep('rollback');
    const next = await self.publish(catalogue.crash);
    await swarm().until(
      self.id,
      ({ UpdateStatus }, tasks) =>
        UpdateStatus?.State === 'rollback_completed' && runningTasks(tasks, self.digest).length === 1,
    );
    await expect
      .poll(self.logs, { timeout: 120_000 })
      .toMatch(/Undid an interrupted update of upkeep|(?:earlier|interrupted) update w.*upkeep.*undone/);
    const notes = await swarm().must<{ Spec: { Labels: Record<string, string> } }[]>('GET', '/configs');
    expect(notes.map(({ Spec }) => Object.values(Spec.Labels))).toEqual([expect.arrayContaining([next])]);
    const { Version } = await swarm().service(self.id);
    await expect.poll(self.logs, { timeout: 120_000 }).toMatch(/held/);
    expect((await swarm().service(self.id)).Version).toEqual(Version);
  });

  test('is left alone where nobody would bring it back', async () => {
    const self = await deployUpkeep('pause');
    await self.publish(upkeep('v2'));
    await expect.poll(self.logs, { timeout: 120_000 }).toMatch(/no Upkeep would run to repair it/);
    expect((await swarm().service(self.id)).Spec.TaskTemplate.ContainerSpec.Image).toBe(self.image);
  });
});
