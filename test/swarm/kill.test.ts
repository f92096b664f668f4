import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { createFaultProxy, type FaultProxy } from '../lab/proxy/fault-proxy.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { isSampled } from '../support/sampled.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { deploy, reportOf } from './rig/deployed.ts';

/** Changing calls of a whole update, including the note of a failure; beyond the last one no process is killed. */
const versions = [
  { name: 'a good version', next: catalogue.v2, action: 'rollback', changes: 1 },
  { name: 'a crashing version that the swarm takes back', next: catalogue.crash, action: 'rollback', changes: 2 },
  { name: 'a crashing version', next: catalogue.crash, action: 'pause', changes: 3 },
  { name: 'a sick version', next: catalogue.sick, action: 'pause', changes: 3 },
  { name: 'a version that crashes later', next: catalogue['crash-later'], action: 'continue', changes: 3 },
] as const;

const points = versions.flatMap(({ changes, ...version }) =>
  Array.from({ length: changes }, (_, index) => index + 1).flatMap((change) =>
    (['before', 'after'] as const).map((when) => ({
      title: `${version.name}, killed ${when} call ${change}`,
      version,
      change,
      when,
    })),
  ),
);

describeInSwarm('a service whose updater is killed', {}, (swarm) => {
  let proxy: FaultProxy | undefined;
  afterEach(() => proxy?.close());

  const changes = () => (proxy?.calls ?? []).filter(({ change }) => change !== undefined).length;
  const start = (onPid: (kill: () => void) => void = () => {}) =>
    runUpkeep(['update', '--swarm', '--json', '--health-window', '4s'], {
      socket: `${swarm().node(1).engine.dir}/proxy.sock`,
      onStart: (child) => onPid(() => child.kill('SIGKILL')),
    });

  test.each(points.filter((_, number) => isSampled(number, points.length / 2)).map((one) => [one.title, one] as const))(
    'is brought to an end by the next start, and left alone by the one after (%s)',
    async (_, { version, change, when }) => {
      const { engine } = swarm().node(1);
      const armed = await createFaultProxy({
        listen: { socketPath: `${engine.dir}/proxy.sock` },
        upstream: { socketPath: engine.socket },
      });
      proxy = armed;
      const web = await deploy(swarm(), 'web', catalogue.v1, { update: { FailureAction: version.action } });
      const next = await web.publish(version.next);
      const killed = await start((kill) => armed.arm({ at: change, fault: { kind: 'kill', when, kill } }));
      expect(killed.code, killed.stdout + killed.stderr).toBeNull();

      const second = reportOf(await start());
      const digest = version.next === catalogue.v2 ? next : web.digest;
      const { service } = await swarm().until(web.id, (_, tasks) => runningTasks(tasks, digest).length === 2);
      expect(service.Spec.TaskTemplate.ContainerSpec.Image, second.stdout + second.stderr).toContain(digest);

      const before = changes();
      const third = reportOf(await start());
      expect(third.of('web'), JSON.stringify(third.of('web'))).toMatchObject({
        outcome: version.next === catalogue.v2 ? 'fresh' : 'skipped',
      });
      expect(changes(), third.stdout).toBe(before);
    },
  );
});
