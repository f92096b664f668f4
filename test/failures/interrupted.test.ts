import { describe, expect, test } from 'vitest';
import type { Fault } from '../../sandbox/engine/calls.ts';
import { type Cast, everything, inNetworkOf, restart, setStage, type Stage } from './rig/stage.ts';

/** Failures in the middle: the updater, the engine or a client goes away. */

const always = { HostConfig: restart('always') };
const batch: Cast = {
  db: { body: always, old: { behaviour: { stopMs: 300 } } },
  vpn: { body: always },
  app: { body: { HostConfig: { ...always.HostConfig, ...inNetworkOf('vpn').HostConfig } }, next: 'none' },
  web: { body: { Volumes: { '/scratch': {} }, ...always } },
  blog: { body: always, next: { behaviour: { exitsAfterMs: 10, exitCode: 3 } } },
};

/** Number of calls of an undisturbed update of the batch. */
async function countCalls(): Promise<number> {
  const stage = await setStage(batch);
  const { connection, outcomes } = await stage.update();
  expect(outcomes).toEqual({ db: 'updated', vpn: 'updated', app: 'restarted', web: 'updated', blog: 'rolled_back' });
  expect(stage.harm()).toEqual([]);
  return connection.calls.length;
}

/** Harm after a fault at each call in turn, and one more start of the service. */
async function harmAtEveryCall(fault: Fault, run: (stage: Stage, at: number) => Promise<void>): Promise<string[]> {
  const harm: string[] = [];
  const calls = await countCalls();
  for (let at = 1; at <= calls; at += 1) {
    const stage = await setStage(batch);
    await run(stage, at);
    await stage.startAgain();
    const found = stage.harm();
    if (found.length > 0) harm.push(`${fault.kind} at call ${at}: ${found.join('; ')}`);
  }
  return harm;
}

describe('the updater dies', () => {
  test.each(['before', 'during', 'after'] as const)(
    'failure 19: it is killed %s any call of an update of many: the next start has all of them, running',
    async (when) => {
      const fault: Fault = { kind: 'crash', when };
      const kill = (stage: Stage, at: number) => stage.updateKilled({ faults: [{ at, fault }] });
      expect(await harmAtEveryCall(fault, kill)).toEqual([]);
    },
  );

  test('and a service repairs the rest beside the next run, for every call at which it was killed', async () => {
    const harm: string[] = [];
    const calls = await countCalls();
    for (let at = 1; at <= calls; at += 1) {
      const stage = await setStage(batch);
      await stage.updateKilled({ faults: [{ at, fault: { kind: 'crash', when: 'during' } }] });
      const { application } = stage.live({ isService: true });
      await Promise.all([application.recover(), application.update({ ...everything, containers: ['db', 'web'] })]);
      await stage.scene.clock.sleep(60_000);
      const found = [...stage.harm(), ...application.inventory().unfinished.map(({ reason }) => reason)];
      await application.close();
      if ((await stage.startAgain()).transactions.length > 0) found.push('something was left to repair');
      if (found.length > 0) harm.push(`at call ${at}: ${found.join('; ')}`);
    }
    expect(harm).toEqual([]);
  });

  test('and again, at every call of a service that repairs beside a run: the next start has all of them', async () => {
    const harm: string[] = [];
    for (let at = 1, isOver = false; !isOver; at += 1) {
      const stage = await setStage(batch);
      let starts = 0;
      await stage.updateKilled({
        faults: [
          {
            at: ({ kind }) => kind === 'startContainer' && (starts += 1) === 3,
            fault: { kind: 'crash', when: 'after' },
          },
        ],
      });
      const { application, connection } = stage.live({
        isService: true,
        faults: [{ at, fault: { kind: 'crash', when: 'during' } }],
      });
      const work = [application.recover(), application.update({ ...everything, containers: ['blog', 'web'] })];
      await Promise.allSettled(work);
      await stage.scene.clock.sleep(60_000);
      isOver = !connection.isDead();
      await application.close();
      await stage.startAgain();
      const found = stage.harm();
      if (found.length > 0) harm.push(`at call ${at}: ${found.join('; ')}`);
    }
    expect(harm).toEqual([]);
  });

  test.each(['before', 'during', 'after'] as const)(
    'failure 20: it is killed %s the rename that gives the new one its name: nothing is left over',
    async (when) => {
      const stage = await setStage({ web: { body: always } });
      await stage.updateKilled({
        faults: [
          {
            at: ({ kind, target }) => kind === 'renameContainer' && target === 'web.upkeep-new',
            fault: { kind: 'crash', when },
          },
        ],
      });
      expect(stage.harm()).not.toEqual([]);
      await stage.startAgain();
      expect(stage.harm()).toEqual([]);
    },
  );

  test('failure 21: it is killed when the new one has its name and does not run yet: the old one runs again', async () => {
    const stage = await setStage({ web: { body: always } });
    await stage.updateKilled({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'before' } }] });
    expect(stage.now('web').running).toBe(false);
    await stage.startAgain();
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('pitfall 4: what it has created and never started is found without --include-stopped', async () => {
    const stage = await setStage({ web: { body: always } });
    await stage.updateKilled({ faults: [{ at: 'createContainer', fault: { kind: 'crash', when: 'after' } }] });
    expect(stage.harm()).toEqual(['"web.upkeep-new" is left over']);
    const { transactions } = await stage.startAgain();
    expect(transactions).toMatchObject([{ containers: ['web'], result: 'undone' }]);
    expect(stage.harm()).toEqual([]);
  });
});

describe('whoever waits goes away', () => {
  test('failure 22: the run is cancelled while a container is stopped: that one is finished, the others are not begun', async () => {
    const stage = await setStage({ one: { body: always, old: { behaviour: { stopMs: 2000 } } }, two: {}, three: {} });
    const limit = new AbortController();
    const act = () => limit.abort();
    const { outcomes, of } = await stage.update({
      settings: { updateConcurrency: 1 },
      signal: limit.signal,
      faults: [{ at: 'stopContainer', fault: { kind: 'third-party', when: 'before', act } }],
    });
    expect(Object.values(outcomes).toSorted()).toEqual(['skipped', 'skipped', 'updated']);
    const [left = ''] = Object.keys(outcomes).filter((name) => outcomes[name] === 'skipped');
    expect(of(left).reason).toBe('The run was cancelled before its turn');
    expect(stage.harm()).toEqual([]);
  });

  test.each<[string, Cast, number, string[]]>([
    ['one that is well', { web: { body: always } }, 0, ['web']],
    ['one that ends later', { web: { body: always, next: { behaviour: { exitsAfterMs: 60_000 } } } }, 120_000, []],
    ['a group', { vpn: { body: always }, app: batch['app']! }, 0, ['vpn', 'app']],
    ['a stopped one beside it', { web: { body: always }, off: {} }, 0, ['web', 'off']],
  ])(
    'failure 22: the process has to end while %s proves itself: the next start finishes or undoes it',
    async (_, cast, laterMs, replaced) => {
      const stage = await setStage(cast);
      const limit = new AbortController();
      const act = () => limit.abort();
      const { outcomes, connection, complaints } = await stage.update({
        settings: { healthWindowMs: 600_000 },
        outside: () => ({ ending: limit.signal }),
        faults: [{ at: 'startContainer', fault: { kind: 'third-party', when: 'after', act } }],
      });
      expect(new Set(Object.values(outcomes))).toEqual(new Set(['deferred']));
      expect(complaints).toContain(
        'Upkeep ends before the health check of a new version is over: the next start finishes or undoes this',
      );
      connection.crash();
      await stage.scene.clock.sleep(laterMs);
      await stage.startAgain();
      expect(stage.harm()).toEqual([]);
      expect(Object.keys(cast).filter(stage.isReplaced)).toEqual(replaced);
    },
  );

  test('failure 23: the run is cancelled while the new one is made: nothing has been stopped, nothing is left', async () => {
    const stage = await setStage({ web: { body: always } });
    const limit = new AbortController();
    const act = () => limit.abort();
    const { outcomes, connection } = await stage.update({
      signal: limit.signal,
      faults: [{ at: 'createContainer', fault: { kind: 'third-party', when: 'after', act } }],
    });
    expect(outcomes).toEqual({ web: 'deferred' });
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    expect(stage.harm()).toEqual([]);
  });
});

describe('the engine goes away', () => {
  test.each(['crash', 'graceful', 'power-cut'] as const)(
    'failure 25: %s of the engine at any call of an update of many: after the next start all of them run',
    async (how) => {
      for (const when of ['during', 'after'] as const) {
        const fault: Fault = { kind: 'engine-restart', how, when };
        const run = async (stage: Stage, at: number) => {
          const life = stage.live({ faults: [{ at, fault }] });
          await life.application.update({ trigger: 'command', images: [], containers: [] }).catch(() => undefined);
          life.connection.crash();
          await stage.scene.clock.sleep(60_000);
        };
        expect(await harmAtEveryCall(fault, run), when).toEqual([]);
      }
    },
  );
});

describe('something hangs', () => {
  test('failure 38: a pull hangs: it is given up, the others are updated, and the next run is let in', async () => {
    const stage = await setStage({ slow: { image: 'slow.test/slow:1' }, web: {} });
    stage.scene.registry.store.misbehave('slow.test', { kind: 'stalls-pulls' });
    const begunMs = stage.scene.clock.monotonicMs();
    const life = stage.live();
    const first = await life.application.update({ trigger: 'schedule', images: [], containers: [] });
    expect(first.containers).toMatchObject([
      { name: expect.any(String), outcome: expect.any(String) },
      { name: expect.any(String), outcome: expect.any(String) },
    ]);
    const outcomeOf = (name: string) => first.containers.find((one) => one.name === name);
    expect(outcomeOf('web')).toMatchObject({ outcome: 'updated' });
    expect(outcomeOf('slow')).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('no progress for 60 s'),
    });
    expect(stage.scene.clock.monotonicMs() - begunMs).toBeLessThan(65_000);
    stage.scene.registry.store.behaveAgain('slow.test');
    const second = await life.application.update({ trigger: 'schedule', images: [], containers: [] });
    expect(second.containers.find(({ name }) => name === 'slow')).toMatchObject({ outcome: 'updated' });
    expect(stage.harm()).toEqual([]);
  });

  test('failure 38: a pull hangs and the run is cancelled: it ends at once', async () => {
    const stage = await setStage({ slow: { image: 'slow.test/slow:1' } });
    stage.scene.registry.store.misbehave('slow.test', { kind: 'stalls-pulls' });
    const limit = new AbortController();
    void stage.scene.clock.sleep(1000).then(() => limit.abort());
    const { outcomes, session } = await stage.update({ signal: limit.signal });
    expect(outcomes).toEqual({ slow: 'skipped' });
    expect(session.durationMs).toBeLessThan(2000);
    expect(stage.harm()).toEqual([]);
  });
});
