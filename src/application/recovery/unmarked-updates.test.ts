import { describe, expect, test } from 'vitest';
import { everything, restart, setStage, type Stage } from '../../../test/failures/rig/stage.ts';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import type { CallKind, PlannedFault, SandboxCall } from '../../../sandbox/engine/calls.ts';

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

const tooLong = 60;

test.each(['good', 'crashesAtStart'] as const)(
  'a service that is killed at any call of an update leaves nothing to do for a person: new version %s',
  async (behaviour) => {
    for (const when of ['before', 'after'] as const) {
      for (let at = 1; at < tooLong; at += 1) {
        const stage = await stageOf(behaviour);
        const crash: PlannedFault = { at: ({ number }: SandboxCall) => number === at, fault: { kind: 'crash', when } };
        const life = stage.live({ faults: [crash, ...noUntag] });
        await stage.scene.clock.run(() => life.application.update({ ...everything }).catch(() => undefined));
        if (!life.connection.isDead()) break;
        const { unfinished } = await recover(stage);
        expect({ at, when, harm: stage.harm(), unfinished }).toEqual({ at, when, harm: [], unfinished: [] });
      }
    }
  },
);

test('an update whose service was killed during the health check is finished, and the next ones are made', async () => {
  const stage = await stageOf('good');
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

describe.each(['', 'unless-stopped', 'on-failure'])('an old container with the policy "%s"', (policy) => {
  test('that cannot start at once is told, and started by the next repair', async () => {
    const stage = await stageOf('crashesAtStart', policy);
    let starts = 0;
    let isTaken = true;
    const taken: PlannedFault = {
      at: ({ kind }) => kind === 'startContainer' && isTaken && (starts += 1) > 1,
      fault: { kind: 'refuse', status: 500, message: 'port is already allocated' },
      every: true,
    };
    const first = await stage.update({ faults: [taken, ...noUntag] });
    expect(first.outcomes).toEqual({ web: 'failed' });
    first.connection.crash();
    const again = await recover(stage, [taken, ...noUntag]);
    expect(again).toMatchObject({ transactions: [{ result: 'failed' }], unfinished: [{ name: 'web' }] });
    isTaken = false;
    expect(await recover(stage)).toMatchObject({ transactions: [{ result: 'undone' }], unfinished: [] });
    expect(stage.harm()).toEqual([]);
  });
});

test('a parked container stays known while its successor cannot be renamed, and comes back after the grant', async () => {
  const stage = await stageOf('crashesAtStart');
  let isStopped = false;
  const late: PlannedFault = {
    at: ({ kind, target }) => {
      isStopped ||= kind === 'stopContainer' && target !== '';
      return isStopped && kind === 'renameContainer';
    },
    fault: { kind: 'forbid' },
    every: true,
  };
  const { application, connection } = stage.live({ faults: [late, ...noUntag] });
  const { containers } = await stage.scene.clock.run(() => application.update({ ...everything }));
  expect(containers).toMatchObject([{ name: 'web', outcome: 'failed', isUnfinished: true }]);
  expect(stage.now('web.upkeep-old-u').running).toBe(true);
  expect((await application.check(everything)).unfinished).toMatchObject([{ name: 'web', state: 'repair pending' }]);
  connection.crash();
  expect(await recover(stage)).toMatchObject({ transactions: [{ result: 'undone' }], unfinished: [] });
  expect(stage.harm()).toEqual([]);
});
