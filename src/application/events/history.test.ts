import { describe, expect, test } from 'vitest';
import { containerOutcome, session } from '../../../test/support/scene/fake-application.ts';
import { summarise, type EngineRuns } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { SharedRecords } from '../../domain/outside/outside.ts';
import { createHistory, compactHistory, readHistoryEntry, type HistoryEntry } from './history.ts';

function completed(runId: string, atMs: number, engines?: EngineRuns['engines']): ServiceEvent {
  const run = session([
    containerOutcome('a', { outcome: 'updated' }),
    containerOutcome('b', { outcome: 'failed' }),
    containerOutcome('c', { outcome: 'rolled_back', reason: `it said \x1b[2J${'x'.repeat(600)}` }),
    containerOutcome('d', { outcome: 'deferred' }),
  ]);
  return {
    kind: 'scan_completed',
    runId,
    purpose: 'update',
    ...summarise(run),
    session: { ...run, runId, ...(engines && { engines }) },
    atMs,
  };
}

test('remembers what a run was, and what became of it', () => {
  const history = createHistory();
  expect(history.last()).toBeUndefined();
  history.onEvent(completed('r1', 77));
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
  history.onEvent({ kind: 'scan_completed', runId: 'r', purpose: 'check', ...counts, session: undefined, atMs: 1 });
  history.onEvent({ kind: 'scan_failed', runId: 'r', purpose: 'update', error: 'no engine', atMs: 1 });
  expect(history.entries()).toEqual([]);
});

test('keeps the last 500, oldest first', () => {
  const history = createHistory();
  for (let run = 1; run <= 510; run += 1) history.onEvent(completed(`r${run}`, run));
  const entries = history.entries();
  expect([entries.length, entries[0]?.runId, entries.at(-1)?.runId]).toEqual([500, 'r11', 'r510']);
});

describe('with a store', () => {
  function storeOf(kept: HistoryEntry[]): SharedRecords<HistoryEntry> {
    return {
      read: async () => {
        await Promise.resolve();
        return [...kept];
      },
      fault: () => undefined,
      append: (entries) => {
        kept.push(...(JSON.parse(JSON.stringify(entries)) as HistoryEntry[]));
        return Promise.resolve('kept');
      },
    };
  }

  test('tells of the runs of earlier processes, before its own, each once', async () => {
    const kept: HistoryEntry[] = [];
    const first = createHistory(storeOf(kept));
    first.onEvent(completed('r1', 77));
    await first.flush();
    const second = createHistory(storeOf(kept));
    second.onEvent(completed('r2', 88));
    await second.flush();
    await second.load();
    expect(second.entries().map(({ runId }) => runId)).toEqual(['r1', 'r2']);
    expect(second.entries()[0]).toEqual(first.entries()[0]);
  });

  test('tells of a run once that ends while earlier ones are read, also if they are read twice at a time', async () => {
    const kept: HistoryEntry[] = [];
    const first = createHistory(storeOf(kept));
    first.onEvent(completed('r1', 77));
    await first.flush();
    const slow = createHistory(storeOf(kept));
    const loads = [slow.load(), slow.load()];
    slow.onEvent(completed('r2', 88));
    await Promise.all(loads);
    expect(slow.entries().map(({ runId }) => runId)).toEqual(['r1', 'r2']);
  });

  test('tells of the runs that another process ends meanwhile, each once, in the order of their ends', async () => {
    const kept: HistoryEntry[] = [];
    const others: unknown[] = [];
    const [service, command] = [
      createHistory(storeOf(kept), ({ runId }, isEarlier) => others.push([runId, isEarlier])),
      createHistory(storeOf(kept)),
    ];
    command.onEvent(completed('r1', 77));
    await command.flush();
    await service.load();
    service.onEvent(completed('r3', 99));
    command.onEvent(completed('r2', 88));
    await Promise.all([service.flush(), command.flush()]);
    await service.refresh();
    await service.refresh();
    expect(service.entries().map(({ runId }) => runId)).toEqual(['r1', 'r2', 'r3']);
    expect(others).toEqual([
      ['r1', true],
      ['r2', false],
    ]);
  });

  test('keeps the last 20 lines of the log of a failure', async () => {
    const kept: HistoryEntry[] = [];
    const history = createHistory(storeOf(kept));
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    const log = `${lines.join('\n')}\n`;
    const run = session([containerOutcome('web', { outcome: 'rolled_back', log })]);
    history.onEvent({ ...completed('r1', 77), ...summarise(run), session: run } as ServiceEvent);
    await history.flush();
    expect(history.last()?.containers[0]?.log).toBe(lines.slice(10).join('\n'));
    expect(readHistoryEntry(JSON.parse(JSON.stringify(kept[0])))).toEqual(history.last());
    expect(readHistoryEntry({ ...kept[0], containers: [{ ...kept[0]?.containers[0], log: 5 }] })).toBeUndefined();
  });

  test('reads back who asked for a run', () => {
    const history = createHistory();
    const event = completed('r1', 77);
    if (event.kind !== 'scan_completed' || event.session === undefined) throw new Error('this is no end of a run');
    history.onEvent({ ...event, session: { ...event.session, trigger: 'http', by: 'token b\x1b[2J' } });
    const [entry] = history.entries();
    expect(entry).toMatchObject({ trigger: 'http', by: 'token b\\x1b[2J' });
    const written = JSON.parse(JSON.stringify(entry)) as object;
    expect(readHistoryEntry(written)).toEqual(entry);
    expect(readHistoryEntry({ ...written, by: 5 })).toBeUndefined();
  });

  test('reads back what it has written, and nothing else', () => {
    const history = createHistory();
    history.onEvent(completed('r1', 77));
    const [entry] = history.entries();
    const written = JSON.parse(JSON.stringify(entry)) as object;
    expect(readHistoryEntry(written)).toEqual(entry);
    for (const field of Object.keys(written)) {
      expect(readHistoryEntry({ ...written, [field]: undefined })).toBeUndefined();
      expect(readHistoryEntry({ ...written, [field]: { odd: [null] } })).toBeUndefined();
    }
    expect(readHistoryEntry({ ...written, containers: [{ name: 'web' }] })).toBeUndefined();
  });

  test('reads back the engines of a run, and refuses other things in their place', () => {
    const engines = [
      { name: 'nas', result: 'ran', durationMs: 5.5 },
      { name: 'pi', result: 'unreachable', durationMs: 30, error: `it said \x1b[2J${'x'.repeat(600)}` },
    ] as const;
    const history = createHistory();
    history.onEvent(completed('r1', 77, engines));
    const [entry] = history.entries();
    expect(entry?.engines).toEqual([
      engines[0],
      { ...engines[1], error: expect.stringMatching(/^it said \\x1b\[2Jx{1,490}…$/) },
    ]);
    const written = JSON.parse(JSON.stringify(entry)) as object;
    expect(readHistoryEntry(written)).toEqual(entry);
    for (const strange of [{}, [{}], [{ ...engines[0], result: 'slept' }], [{ ...engines[1], error: 7 }]])
      expect(readHistoryEntry({ ...written, engines: strange })).toBeUndefined();
  });

  test('keeps the newest 10,000 of 90 days', () => {
    const history = createHistory();
    history.onEvent(completed('r1', 77));
    const [entry] = history.entries() as [HistoryEntry];
    const dayMs = 86_400_000;
    const old = { ...entry, timestampMs: dayMs };
    const many = Array.from({ length: 10_050 }, (_, index) => ({ ...entry, timestampMs: 91 * dayMs + index }));
    const left = compactHistory([old, ...many], 92 * dayMs);
    expect(left).toHaveLength(10_000);
    expect(left.at(-1)).toEqual(many.at(-1));
    expect(compactHistory([old], 92 * dayMs)).toEqual([]);
  });
});
