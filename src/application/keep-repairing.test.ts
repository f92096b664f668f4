import { describe, expect, test } from 'vitest';
import { setStage } from '../../test/failures/rig/stage.ts';
import { behaviours } from '../../sandbox/base/behaviour.ts';
import type { CallKind } from '../../sandbox/engine/calls.ts';

/** A service whose proxy forbids calls from the first stop on, and permits them again on request. */
async function stuckService(forbidden: readonly CallKind[], behaviour: keyof typeof behaviours) {
  const stage = await setStage({ web: { next: { behaviour: behaviours[behaviour] } }, other: { next: 'none' } });
  let isForbidden = false;
  const { application, events, complaints } = stage.live({
    faults: [
      {
        at: ({ kind, number }) => {
          if (number > 0 && kind === 'stopContainer') isForbidden = true;
          return isForbidden && kind !== 'stopContainer' && forbidden.includes(kind);
        },
        fault: { kind: 'forbid' },
        every: true,
      },
    ],
  });
  const stopping = new AbortController();
  const { clock } = stage.scene;
  await application.follow();
  const running = application.keepUpdating({ schedule: undefined, updateOnStart: true }, stopping.signal);
  const pass = (ms: number) => clock.advance(ms);
  return {
    ...{ stage, application, events, complaints, pass },
    grant: () => void (isForbidden = false),
    end: async () => {
      stopping.abort();
      await clock.run(() => running);
      await application.close();
    },
  };
}

describe.each(['good', 'crashesAtStart'] as const)(
  'starts are forbidden after the stop, with a version that is %s',
  (behaviour) => {
    test('the container that stays down is told everywhere, and runs within a minute of the grant', async () => {
      const { stage, application, events, pass, grant, end } = await stuckService(['startContainer'], behaviour);
      await pass(120_000);
      expect(stage.scene.sandbox.control.snapshot().containers['web']?.running).not.toBe(true);
      expect(application.inventory().unfinished).toMatchObject([
        { name: 'web', state: 'repair pending', isDown: true },
      ]);
      const report = await stage.scene.clock.run(() => application.check({ images: [], containers: [] }));
      expect(report.unfinished).toMatchObject([{ name: 'web', isDown: true }]);
      expect(events.filter(({ kind }) => kind === 'earlier_updates_settled')).toHaveLength(1);
      grant();
      await pass(60_000);
      expect(stage.now('web').running).toBe(true);
      expect(application.inventory().unfinished).toEqual([]);
      expect(stage.harm().filter((line) => !line.includes('kept'))).toEqual([]);
      await end();
    });
  },
);
