import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { runUpkeep, startUpkeep } from '../support/scene/run-upkeep.ts';
import { deploy, type Entry, reportOf } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

type OfEngine = Entry & { readonly engine: string; readonly status?: string };

describeInSwarm('three managers of one swarm as three engines', { managers: 3 }, (swarm) => {
  const hosts = () => swarm().nodes.flatMap(({ name, engine }) => ['--host', `${name}=unix://${engine.socket}`]);
  const upkeep = (...args: readonly string[]) => {
    return runUpkeep([...args, '--swarm', '--json', ...hosts()]);
  };

  test('a service is listed and updated once, also where its owner dies in the middle', async () => {
    const [owner] = swarm().nodes;
    const web = await deploy(swarm(), 'web', catalogue.v1, {
      replicas: 3,
      task: { Placement: { Constraints: [`node.hostname!=${owner?.name}`] } },
      update: { Delay: 1_000_000_000 },
    });
    const next = await web.publish(catalogue.v2);
    const check = await upkeep('check');
    const { containers } = JSON.parse(check.stdout) as { containers: readonly OfEngine[] };
    expect(containers, check.stderr).toMatchObject([
      { engine: owner?.name, name: 'web', kind: 'service', status: 'stale' },
    ]);

    const running = upkeep('update', '--health-window', '2s');
    await swarm().until(web.id, (_, tasks) => runningTasks(tasks, next).length >= 1);
    await owner?.lose();
    const report = reportOf(await running);
    expect(report.entries, report.stderr).toMatchObject([
      { engine: owner?.name, name: 'web', kind: 'service', outcome: 'updated' },
    ]);
    expect(await untruth(swarm(), web, next, report.of('web'))).toBeUndefined();

    const later = await upkeep('check');
    expect(JSON.parse(later.stdout)).toMatchObject({ containers: [{ name: 'web', status: 'fresh' }] });
    await owner?.back();
  });

  test('without --swarm it is said at the start that services are left alone', async () => {
    await deploy(swarm(), 'web', catalogue.v1, { replicas: 1 });
    const [owner] = swarm().nodes;
    const service = startUpkeep(['run', ...hosts()]);
    try {
      await service.seen(`Its service is left alone: --swarm (UPKEEP_SWARM) watches it too","engine":"${owner?.name}"`);
    } finally {
      service.child.kill('SIGTERM');
      await service.ended;
    }
  });

  test('a service process shows and updates it though its owner is away', async () => {
    const [owner] = swarm().nodes;
    const web = await deploy(swarm(), 'web', catalogue.v1, {
      replicas: 2,
      task: { Placement: { Constraints: [`node.hostname!=${owner?.name}`] } },
    });
    const api = ['--http-api-endpoints', 'all', '--http-api-token', 'secret', '--http-api-host', '127.0.0.1'];
    const limit = ['--http-api-rate-limit', '100000'];
    const args = ['run', '--swarm', ...api, ...limit, '--http-api-port', '18788', '--health-window', '2s', ...hosts()];
    const service = startUpkeep(args, { env: { UPKEEP_HTTP_API_EVENTS_TOKEN: 'other' } });
    const ask = async (path: string, method = 'GET') => {
      const headers = { Authorization: 'Bearer secret' };
      return (await fetch(`http://127.0.0.1:18788/v1/${path}`, { method, headers })).json() as Promise<Listed>;
    };
    try {
      await service.seen('listening');
      const shown = async () => {
        const { containers = [] } = await ask('containers/details');
        return containers.map(({ engine, name, replicas }) => `${engine}/${name} ${replicas?.running}`);
      };
      await expect.poll(shown, { timeout: 20_000 }).toEqual([`${owner?.name}/web 2`]);
      await owner?.lose();
      await service.seen(`${owner?.name} cannot be reached`);
      const next = await web.publish(catalogue.v2);
      const update = await ask('update?container=web', 'POST');
      expect(update.containers).toMatchObject([{ engine: owner?.name, name: 'web', outcome: 'updated' }]);
      // Another manager sends the events of the swarm.
      await swarm().change(web.id, (spec) => (spec.Mode = { Replicated: { Replicas: 3 } }));
      await expect.poll(shown, { timeout: 20_000 }).toEqual([`${owner?.name}/web 3`]);
      const { containers = [] } = await ask('containers');
      expect(containers[0]?.digest).toBe(next);
    } finally {
      service.child.kill('SIGTERM');
      await service.ended;
      await owner?.back();
    }
  });
});

type Listed = {
  readonly containers?: readonly (OfEngine & {
    readonly digest?: string;
    readonly replicas?: { readonly running: number };
  })[];
};
