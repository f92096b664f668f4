import { describe, expect, test } from 'vitest';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { createBackgroundRepairs } from './background-repairs.ts';

const undone: RecoveredTransaction = { containers: ['web'], result: 'undone', reason: 'it ended' };
const left: RecoveredTransaction = { containers: ['web'], result: 'left', reason: 'this process ends' };

/** A repair that waits, until `end` or an abort of one of its signals. */
function longRepair() {
  const seen: string[] = [];
  let end = () => {};
  const ended = new Promise<RecoveredTransaction>((resolve) => (end = () => resolve(undone)));
  const run: Parameters<ReturnType<typeof createBackgroundRepairs>['begin']>[1] = ({ ending, signal, onWait }) => {
    signal.addEventListener('abort', () => seen.push('signal'));
    const leaves = new Promise<RecoveredTransaction>((resolve) =>
      ending.addEventListener('abort', () => (seen.push('ending'), resolve(left))),
    );
    onWait();
    return Promise.race([ended, leaves]);
  };
  return { run, seen, end: () => end() };
}

describe('createBackgroundRepairs()', () => {
  test('gives the result of a repair that does not wait to its caller', async () => {
    const told: unknown[] = [];
    const repairs = createBackgroundRepairs({});
    expect(
      await repairs.begin(
        ['web'],
        () => Promise.resolve(undone),
        (one) => told.push(one),
      ),
    ).toBe(undone);
    await repairs.close();
    expect(told).toEqual([]);
  });

  test('lets the caller go when a repair waits; the end of the request that found it changes nothing', async () => {
    const repairs = createBackgroundRepairs({});
    const request = new AbortController();
    const { run, seen, end } = longRepair();
    let tell: (result: unknown) => void = () => {};
    const told = new Promise((resolve) => (tell = resolve));
    expect(await repairs.begin(['web'], run, (result) => tell(result), request.signal)).toBeUndefined();
    request.abort();
    expect(repairs.whyNotNow(['db', 'web'])).toBe('an interrupted update of "web" is being repaired');
    expect(repairs.whyNotNow(['db'])).toBeUndefined();
    end();
    expect(await told).toBe(undone);
    expect(seen).toEqual([]);
    expect(repairs.whyNotNow(['web'])).toBeUndefined();
  });

  test.each(['close', 'ending'] as const)('%s ends all waits, and close() waits for the repairs', async (by) => {
    const ending = new AbortController();
    const repairs = createBackgroundRepairs({ ending: ending.signal });
    const told: unknown[] = [];
    for (const { run } of [longRepair(), longRepair()]) await repairs.begin(['web'], run, (one) => told.push(one));
    if (by === 'ending') ending.abort();
    await repairs.close();
    expect(told).toEqual([left, left]);
    const late = longRepair();
    await repairs.begin(['web'], late.run, (one) => told.push(one));
    await repairs.close();
    expect(told).toHaveLength(3);
    expect(late.seen).toEqual(['ending', 'signal']);
  });

  test('takes a bounded number', async () => {
    const repairs = createBackgroundRepairs({});
    for (let count = 0; count < 100; count += 1) {
      expect(repairs.isFull()).toBe(false);
      await repairs.begin([`web-${count}`], longRepair().run, () => {});
    }
    expect(repairs.isFull()).toBe(true);
    await repairs.close();
    expect(repairs.isFull()).toBe(false);
  });
});
