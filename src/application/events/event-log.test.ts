import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containerOutcome, session } from '../../../test/support/scene/fake-application.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { createEventLog } from './history.ts';

const skipped = (atMs: number): ServiceEvent => ({ kind: 'scan_skipped', trigger: 'schedule', reason: 'busy', atMs });

function createLog(maxEvents?: number) {
  const { outside, complaints } = createSandboxScene().startProcess();
  return { ...createEventLog(outside.log, maxEvents), complaints };
}

describe('createEventLog()', () => {
  test('numbers what happens, from 1', () => {
    const log = createLog();
    log.onEvent(skipped(5));
    log.onEvent(skipped(6));
    expect(log.since(0)).toEqual([
      { kind: 'scan_skipped', id: 1, event: skipped(5) },
      { kind: 'scan_skipped', id: 2, event: skipped(6) },
    ]);
  });

  test('passes over the steps on the way', () => {
    const log = createLog();
    log.onEvent({ kind: 'containers_selected', runId: 'r', names: ['a'] });
    log.onEvent({ kind: 'phase_entered', runId: 'r', container: 'a', phase: 'pulling' });
    expect(log.since(0)).toEqual([]);
  });

  test('tells the steps to who asks for them, in the order of what happened, and keeps none', () => {
    const log = createLog();
    const heard: string[] = [];
    log.subscribe(({ kind }) => heard.push(kind));
    const leave = log.subscribeToSteps(({ kind }) => heard.push(kind));
    const step = { kind: 'phase_entered', runId: 'r', container: 'a', phase: 'pulling' } as const;
    log.onEvent(step);
    log.onEvent(skipped(1));
    log.onEvent({ kind: 'containers_selected', runId: 'r', names: ['a'] });
    log.onEvent({ ...step, phase: 'stopping' });
    leave();
    log.onEvent(step);
    expect(heard).toEqual(['phase_entered', 'scan_skipped', 'phase_entered']);
    expect(log.since(0)).toHaveLength(1);
  });

  test('keeps no bulk: neither the session of a run nor the last words of a container', () => {
    const log = createLog();
    const outcome = containerOutcome('web', { outcome: 'rolled_back', reason: 'it crashed', log: 'x'.repeat(65_536) });
    const counts = { scanned: 1, updated: 0, failed: 1, restarted: 0, skipped: 0 };
    const run = { runId: 'r', purpose: 'update', ...counts, session: session([outcome]), atMs: 1 } as const;
    log.onEvent({ kind: 'update_failed', runId: 'r', outcome, atMs: 1 });
    log.onEvent({ kind: 'scan_completed', ...run });
    expect(JSON.stringify(log.since(0)).length).toBeLessThan(2000);
    expect(log.since(0).map(({ event }) => event)).toMatchObject([
      { outcome: { name: 'web', outcome: 'rolled_back', reason: 'it crashed' } },
      { runId: 'r', ...counts },
    ]);
  });

  test('a listener that throws is logged, and the others hear all the same', () => {
    const log = createLog();
    const heard: number[] = [];
    log.subscribe(() => {
      throw new Error('boom');
    });
    const leave = log.subscribe(({ id }) => heard.push(id));
    log.onEvent(skipped(1));
    leave();
    log.onEvent(skipped(2));
    expect(heard).toEqual([1]);
    expect(log.complaints).toHaveLength(2);
  });

  test('gives back exactly what came after an id', () => {
    const room = fc.integer({ min: 1, max: 20 });
    fc.assert(
      fc.property(room, fc.nat({ max: 60 }), fc.integer({ min: -1, max: 70 }), (maxEvents, count, id) => {
        const log = createLog(maxEvents);
        const all = Array.from({ length: count }, (_, index) => index + 1);
        for (const atMs of all) log.onEvent(skipped(atMs));
        const wanted = all.filter((each) => each > id);
        const kept = all.slice(-maxEvents);
        expect(log.since(id).map((event) => event.id)).toEqual(wanted.filter((each) => kept.includes(each)));
      }),
    );
  });
});
