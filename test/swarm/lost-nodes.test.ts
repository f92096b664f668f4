import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { isSampled } from '../support/sampled.ts';
import { deploy, update } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

const away = { Placement: { Constraints: ['node.hostname!=n1'] } };

const cases = ['stop-first', 'start-first'].flatMap((order) =>
  (['before', 'after'] as const).flatMap((moment) =>
    [5, 60].map((seconds) => ({
      title: `${order}, lost ${moment} its new task runs, back after ${seconds} s`,
      order,
      moment,
      seconds,
    })),
  ),
);

describeInSwarm('an update during which nodes are lost', {}, (swarm) => {
  test.each(cases.filter((_, number) => isSampled(number, cases.length)).map((one) => [one.title, one] as const))(
    'ends, and is told as it is (%s)',
    async (_, { order, moment, seconds }) => {
      const web = await deploy(swarm(), 'web', catalogue.v1, { replicas: 4, task: away, update: { Order: order } });
      const next = await web.publish(catalogue.slow);
      const third = (await swarm().nodeViews()).find(({ Description }) => Description.Hostname === 'n3')?.ID;
      const run = update(swarm());
      await swarm().until(web.id, (_, tasks) =>
        (moment === 'after' ? runningTasks(tasks, next) : tasks).some(
          ({ NodeID, Spec }) => NodeID === third && Spec.ContainerSpec.Image.endsWith(next),
        ),
      );
      await swarm().node(3).lose();
      const back = new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000)).then(() =>
        swarm().node(3).back(),
      );
      const entry = (await run).of('web');
      expect(['updated', 'rolled_back']).toContain(entry.outcome);
      expect(await untruth(swarm(), web, next, entry), JSON.stringify(entry)).toBeUndefined();
      await back;
      await swarm().allReady(3);
      const again = (await update(swarm())).of('web');
      expect(await untruth(swarm(), web, next, again), JSON.stringify(again)).toBeUndefined();
    },
  );
});
