import { expect, test } from 'vitest';
import { containerOutcome, session } from '../../../test/support/fake-application.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { summarise } from '../../domain/run/session.ts';
import { createHistory } from './history.ts';

function completed(runId: string, atMs: number): ServiceEvent {
  const run = session([
    containerOutcome('a', { outcome: 'updated' }),
    containerOutcome('b', { outcome: 'failed' }),
    containerOutcome('c', { outcome: 'rolled_back', reason: `it said \x1b[2J${'x'.repeat(600)}` }),
    containerOutcome('d', { outcome: 'deferred' }),
  ]);
  return { kind: 'scan_completed', runId, purpose: 'update', ...summarise(run), session: { ...run, runId }, atMs };
}

test('remembers what a run was, and what became of it', () => {
  const history = createHistory();
  expect(history.last()).toBeUndefined();
  history.hear(completed('r1', 77));
  expect(history.entries()).toEqual([
    {
      runId: 'r1',
      trigger: 'command',
      timestampMs: 77,
      durationMs: 12_345,
      scanned: 4,
      updated: 1,
      failed: 2,
      restarted: 0,
      skipped: 1,
      rolledBack: 1,
      failures: [
        { name: 'b', outcome: 'failed', reason: '' },
        { name: 'c', outcome: 'rolled_back', reason: expect.stringMatching(/^it said \\x1b\[2Jx+…$/) },
      ],
      containers: [
        expect.objectContaining({ name: 'a', outcome: 'updated' }),
        expect.objectContaining({ name: 'b', outcome: 'failed' }),
        expect.objectContaining({
          name: 'c',
          outcome: 'rolled_back',
          reason: expect.stringMatching(/^it said .*x…$/),
        }),
        expect.objectContaining({ name: 'd', outcome: 'deferred' }),
      ],
    },
  ]);
  expect(history.last()).toEqual(history.entries()[0]);
});

test('a check leaves no entry, and neither does a run that failed as a whole', () => {
  const history = createHistory();
  const counts = { scanned: 4, updated: 0, failed: 0, restarted: 0, skipped: 0 };
  history.hear({ kind: 'scan_completed', runId: 'r', purpose: 'check', ...counts, session: undefined, atMs: 1 });
  history.hear({ kind: 'scan_failed', runId: 'r', purpose: 'update', error: 'no engine', atMs: 1 });
  expect(history.entries()).toEqual([]);
});

test('keeps the last 500, oldest first', () => {
  const history = createHistory();
  for (let run = 1; run <= 510; run += 1) history.hear(completed(`r${run}`, run));
  const entries = history.entries();
  expect([entries.length, entries[0]?.runId, entries.at(-1)?.runId]).toEqual([500, 'r11', 'r510']);
});
