import { expect, test } from 'vitest';
import { restart, setStage, type Stage } from '../../../test/failures/rig/stage.ts';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import type { CallKind, PlannedFault } from '../../../sandbox/engine/calls.ts';

/** Updates behind a proxy that forbids `DELETE /images`: no mark is set, because none could be removed again. */

const forbids = (...kinds: readonly CallKind[]): readonly PlannedFault[] =>
  kinds.map((at) => ({ at, fault: { kind: 'forbid' }, every: true }));

const noUntag = forbids('removeImage');

const stageOf = (behaviour: 'good' | 'crashesAtStart', policy = 'unless-stopped') =>
  setStage({ web: { next: { behaviour: behaviours[behaviour] }, body: { HostConfig: restart(policy) } } });

async function recover({ live, scene }: Stage, faults = noUntag) {
  const { application } = live({ faults });
  const { transactions } = await scene.clock.run(() => application.recover());
  await application.follow(new AbortController().signal);
  return { transactions, unfinished: application.inventory().unfinished };
}

test('an update whose service was killed during the health check is finished, and the next ones are made', async () => {
  const stage = await stageOf('good', 'no');
  const crash: PlannedFault = {
    at: ({ kind, target }) => kind === 'startContainer' && target === 'web',
    fault: { kind: 'crash', when: 'after' },
  };
  await stage.updateKilled({ faults: [crash, ...noUntag] });
  expect((await recover(stage)).transactions).toMatchObject([{ containers: ['web'], result: 'finished' }]);
  stage.scene.registry.store.publish('web:1', { version: '3' });
  expect((await stage.update({ faults: noUntag })).outcomes).toEqual({ web: 'updated' });
  expect(stage.harm()).toEqual([]);
});
