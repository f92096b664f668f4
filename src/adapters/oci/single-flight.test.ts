import { expect, test } from 'vitest';
import { createSingleFlight } from './throttle.ts';

test('callers at the same time share one run, and later ones begin another', async () => {
  const flight = createSingleFlight<number>();
  let runs = 0;
  const work = (): Promise<number> => Promise.resolve((runs += 1));
  expect(await Promise.all([flight('a', work), flight('a', work), flight('b', work)])).toEqual([1, 1, 2]);
  expect(await flight('a', work)).toBe(3);
});

test('a failure is for all who waited, and is not remembered', async () => {
  const flight = createSingleFlight<number>();
  const failing = (): Promise<number> => Promise.reject(new Error('no'));
  const both = await Promise.allSettled([flight('a', failing), flight('a', failing)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await flight('a', () => Promise.resolve(1))).toBe(1);
});

test('the work is told when the last caller has left, not before; who comes then begins anew', async () => {
  const flight = createSingleFlight<number>();
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal): Promise<number> => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  const [first, second] = [new AbortController(), new AbortController()];
  const left = [flight('a', work, first.signal), flight('a', work, second.signal)];
  const reason = new Error('enough');
  first.abort(reason);
  await expect(left[0]).rejects.toBe(reason);
  expect(signals[0]?.aborted).toBe(false);
  second.abort(reason);
  await expect(left[1]).rejects.toBe(reason);
  expect(signals[0]?.reason).toBe(reason);
  expect(await flight('a', () => Promise.resolve(1))).toBe(1);
});

test('who has left already does not begin anything', async () => {
  const flight = createSingleFlight<number>();
  await expect(flight('a', () => Promise.reject(new Error('begun')), AbortSignal.abort('gone'))).rejects.toBe('gone');
});

test('a thousand callers with one signal are no leak', async () => {
  const warnings: Error[] = [];
  const hear = (warning: Error): void => void warnings.push(warning);
  process.on('warning', hear);
  const flight = createSingleFlight<number>();
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 1000 }, (_, i) => flight(String(i % 50), () => Promise.resolve(i), signal)));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', hear);
  expect(warnings).toEqual([]);
});
