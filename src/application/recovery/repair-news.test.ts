import { expect, test } from 'vitest';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { createRepairNews } from './background-repairs.ts';

const failed: RecoveredTransaction = { containers: ['web'], result: 'failed', reason: 'starting "web" failed' };
const dayMs = 86_400_000;

function setNews(isUnderWay = (_names: readonly string[]) => false) {
  let nowMs = 0;
  const news = createRepairNews({ clock: { monotonicMs: () => nowMs }, isUnderWay });
  return { ...news, pass: (ms: number) => void (nowMs += ms) };
}

test('a transaction of another instance is reported once, and a service apart from the container of its name', () => {
  const { of, pass } = setNews();
  const left = { containers: ['web'], result: 'left', reason: 'another instance is updating it' } as const;
  const service = { ...left, kind: 'service' } as const;
  expect([left, left, service, service].map((one) => of([one]).length)).toEqual([1, 0, 1, 0]);
  pass(3 * dayMs);
  expect(of([left, service])).toEqual([]);
});

test('a repair that fails is reported at once, then daily, and once when a person has solved it', () => {
  const { ofAll, pass } = setNews();
  const seen: number[] = [];
  for (let minute = 0; minute < 3 * 1440; minute += 1) {
    if (ofAll([failed]).length > 0) seen.push(minute);
    pass(60_000);
  }
  expect(seen).toEqual([0, 1441, 2882]);
  expect(ofAll([])).toEqual([{ containers: ['web'], result: 'solved', reason: 'nothing of it is left to repair' }]);
  expect(ofAll([])).toEqual([]);
  expect(ofAll([failed])).toEqual([failed]);
});

test('each new reason is reported, but not each change between two of them', () => {
  const { ofAll } = setNews();
  const other = { ...failed, reason: 'the engine refuses it' };
  expect([failed, other, failed, other].map((one) => ofAll([one]).length)).toEqual([1, 1, 0, 0]);
});

test('a repair that has worked is the only end, also where it goes on in the background', () => {
  const { of, ofAll } = setNews((names) => names.includes('web'));
  expect(ofAll([failed])).toEqual([failed]);
  expect(ofAll([{ ...failed, result: 'left', isUnderWay: true }])).toEqual([]);
  expect(ofAll([])).toEqual([]);
  const undone = { ...failed, result: 'undone', reason: '' } as const;
  expect(of([undone])).toEqual([undone]);
  expect(ofAll([])).toEqual([]);
});
