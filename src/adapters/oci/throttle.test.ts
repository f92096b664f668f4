import { setMaxListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/clock/fake-clock.ts';
import { HttpFailure, type WireAnswer } from '../http/exchange.ts';
import { createThrottle, noRetries, usualRetries, type Throttle } from './throttle.ts';

function create(clock: FakeClock, maxInFlight = 64): Throttle {
  return createThrottle({ host: 'registry.test', clock, random: () => 0.5, maxInFlight });
}

function answer(status: number, headers: WireAnswer['headers'] = {}, body = ''): WireAnswer {
  return { status, headers, body: Buffer.from(body), showable: String };
}

/** Answers in turn, repeating the last one; and the times of the requests. */
function script(
  clock: FakeClock,
  ...answers: (WireAnswer | Error)[]
): { work: () => Promise<WireAnswer>; askedAtMs: number[] } {
  const askedAtMs: number[] = [];
  const work = (): Promise<WireAnswer> => {
    const next = answers[Math.min(askedAtMs.length, answers.length - 1)]!;
    askedAtMs.push(clock.monotonicMs());
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  return { work, askedAtMs };
}

const reset = (): HttpFailure => new HttpFailure('unreachable', 'closed', { isTransient: true });
const refused = (): HttpFailure => new HttpFailure('unreachable', 'refused');

async function failureOf(work: Promise<unknown>): Promise<HttpFailure> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (error instanceof HttpFailure) return error;
  throw new Error('no failure', { cause: error });
}

describe('a limit', () => {
  test.each([
    ['seconds', answer(429, { 'retry-after': '7' }), 7000],
    ['a date', answer(429, { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }), 9000],
    ['a date long past', answer(429, { 'retry-after': 'Thu, 01 Jan 2020 00:00:09 GMT' }), 50],
    [
      'the words of ghcr.io',
      answer(429, {}, '{"errors":[{"message":"retry-after: 700.5ms, allowed: 44000/minute"}]}'),
      701,
    ],
    ['microseconds', answer(429, {}, '{"errors":[{"message":"retry-after: 880.092µs, allowed: 44000/minute"}]}'), 50],
    ['a 503 with a time', answer(503, { 'retry-after': '3' }), 3000],
    ['no time', answer(429), 1000],
    ['nonsense', answer(429, { 'retry-after': '-1' }, 'not JSON'), 1000],
  ])('is waited out, when it is told in %s', async (_, limited, waitMs) => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, limited, answer(200));
    expect((await clock.run(() => create(clock)(work, usualRetries))).status).toBe(200);
    const [first = 0, second = 0] = askedAtMs;
    expect(second - first).toBeGreaterThanOrEqual(waitMs);
    expect(second - first).toBeLessThanOrEqual(waitMs * 1.25);
  });

  test('of an outage is waited out too, and told as an outage', async () => {
    const clock = createFakeClock();
    const throttle = create(clock);
    const down = answer(503, { 'retry-after': '120' }, '{"message":"maintenance"}');
    const { work } = script(clock, down, answer(200));
    const error = await failureOf(throttle(work, usualRetries));
    expect(error).toMatchObject({ code: 'unreachable', retryAfterMs: 120_000, remedy: undefined });
    expect(error.message).toBe('it is out of service (status 503): maintenance; it may be asked again in 2m');
    expect(await failureOf(throttle(work, usualRetries))).toMatchObject({ code: 'unreachable' });
    await clock.advance(120_001);
    expect((await throttle(work, usualRetries)).status).toBe(200);
  });

  test('of an outage that does not end is told as one', async () => {
    const clock = createFakeClock();
    const down = () => Promise.resolve(answer(503, { 'retry-after': '1' }));
    const error = await clock.run(() => failureOf(create(clock)(down, usualRetries)));
    expect(error).toMatchObject({ code: 'unreachable' });
  });

  test('is told at once when it is longer than our patience, to this caller and to others, until it is over', async () => {
    const clock = createFakeClock();
    const throttle = create(clock);
    const { work, askedAtMs } = script(
      clock,
      answer(429, { 'retry-after': '120' }, '{"message":"too many pulls"}'),
      answer(200),
    );
    const error = await failureOf(throttle(work, usualRetries));
    expect(error).toMatchObject({ code: 'rate-limited', host: 'registry.test', retryAfterMs: 120_000 });
    expect(error.message).toBe('it limits requests: too many pulls; it may be asked again in 2m');
    await clock.advance(80_000);
    expect(await failureOf(throttle(work, usualRetries))).toMatchObject({ retryAfterMs: 40_000 });
    expect(askedAtMs.length).toBe(1);
    await clock.advance(20_000);
    expect((await clock.run(() => throttle(work, usualRetries))).status).toBe(200);
  });

  test('is waited out three times, then told', async () => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, answer(429, { 'retry-after': '1' }));
    const error = await failureOf(clock.run(() => create(clock)(work, usualRetries)));
    expect(error.code).toBe('rate-limited');
    expect(askedAtMs.length).toBe(4);
  });

  test('is waited out only while the waits together are within our patience', async () => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, answer(429, { 'retry-after': '20' }));
    const error = await failureOf(clock.run(() => create(clock)(work, usualRetries)));
    expect(error.code).toBe('rate-limited');
    expect(askedAtMs.length).toBe(2);
  });

  test('is heard by those in the queue, and not ended by an answer that was on its way', async () => {
    const clock = createFakeClock();
    const throttle = create(clock, 2);
    const later = (ms: number, said: WireAnswer) => (): Promise<WireAnswer> => clock.sleep(ms).then(() => said);
    const limited = failureOf(throttle(later(10, answer(429, { 'retry-after': '60' })), usualRetries));
    const onItsWay = throttle(later(20, answer(200)), usualRetries);
    const { work, askedAtMs } = script(clock, answer(200));
    const queued = failureOf(throttle(work, usualRetries));
    await clock.advance(30);
    expect((await limited).code).toBe('rate-limited');
    expect((await onItsWay).status).toBe(200);
    expect((await queued).code).toBe('rate-limited');
    expect((await failureOf(throttle(work, usualRetries))).code).toBe('rate-limited');
    expect(askedAtMs).toEqual([]);
  });

  test('grows while the host keeps sending us away without naming a time', async () => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, answer(429), answer(429), answer(429), answer(200));
    await clock.run(() => create(clock)(work, usualRetries));
    const waits = askedAtMs.slice(1).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
    expect(waits.map((ms) => Math.floor(ms / 1000))).toEqual([1, 2, 4]);
  });

  test('is one, however many requests are sent away at the same time', async () => {
    const clock = createFakeClock();
    const throttle = create(clock);
    let asked = 0;
    const work = async (): Promise<WireAnswer> => {
      asked += 1;
      await clock.sleep(10);
      return asked <= 64 ? answer(429) : answer(200);
    };
    await clock.run(() => Promise.all(Array.from({ length: 64 }, () => throttle(work, usualRetries))));
    expect(clock.monotonicMs()).toBeLessThan(1400);
  });

  test('of a foolish length is an hour at most', async () => {
    const clock = createFakeClock();
    const { work } = script(clock, answer(429, { 'retry-after': '999999999' }));
    expect(await failureOf(create(clock)(work, usualRetries))).toMatchObject({ retryAfterMs: 3_600_000 });
  });
});

describe('a fault', () => {
  test('is tried again twice, after a growing wait', async () => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, reset(), answer(502), answer(200));
    await clock.run(() => create(clock)(work, usualRetries));
    expect(askedAtMs).toEqual([0, 250, 750]);
  });

  test('that stays is returned, or thrown', async () => {
    const clock = createFakeClock();
    expect((await clock.run(() => create(clock)(script(clock, answer(500)).work, usualRetries))).status).toBe(500);
    const { work, askedAtMs } = script(clock, reset());
    expect((await failureOf(clock.run(() => create(clock)(work, usualRetries)))).message).toBe('closed');
    expect(askedAtMs.length).toBe(3);
  });

  test.each([answer(501), answer(505), answer(404)])('is not what $status means', async (said) => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, said);
    expect(await create(clock)(work, usualRetries)).toBe(said);
    expect(askedAtMs.length).toBe(1);
  });

  test('that will not pass by itself is not tried again', async () => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, refused());
    await failureOf(create(clock)(work, usualRetries));
    expect(askedAtMs.length).toBe(1);
  });

  test('is not put up with by the impatient', async () => {
    const clock = createFakeClock();
    const { work, askedAtMs } = script(clock, answer(503));
    expect((await create(clock)(work, noRetries)).status).toBe(503);
    expect(askedAtMs.length).toBe(1);
  });
});

describe('silence', () => {
  const silent = (clock: FakeClock, afterMs: number) => async (): Promise<WireAnswer> => {
    await clock.sleep(afterMs);
    throw new HttpFailure('timeout', 'no answer');
  };

  test('is remembered for as long as it took to notice, so that the queue behind does not take it one by one', async () => {
    const clock = createFakeClock();
    const throttle = create(clock, 2);
    const all = Array.from({ length: 100 }, () => failureOf(throttle(silent(clock, 30_000), usualRetries)));
    await clock.run(() => Promise.all(all));
    expect(clock.monotonicMs()).toBe(30_000);
    await clock.advance(29_000);
    await failureOf(throttle(script(clock, answer(200)).work, usualRetries));
    await clock.advance(1_001);
    expect((await throttle(script(clock, answer(200)).work, usualRetries)).status).toBe(200);
  });

  test('of one request says nothing about a host that answers others', async () => {
    const clock = createFakeClock();
    const throttle = create(clock);
    const lost = failureOf(throttle(silent(clock, 30_000), usualRetries));
    await clock.advance(10_000);
    await throttle(script(clock, answer(200)).work, usualRetries);
    await clock.advance(20_000);
    expect((await lost).code).toBe('timeout');
    expect((await throttle(script(clock, answer(200)).work, usualRetries)).status).toBe(200);
  });
});

test('at most so many are in flight, and the others come in their order', async () => {
  const clock = createFakeClock();
  const throttle = create(clock, 3);
  let inFlight = 0;
  let most = 0;
  const began: number[] = [];
  const all = Array.from({ length: 10 }, (_, i) =>
    throttle(async () => {
      began.push(i);
      inFlight += 1;
      most = Math.max(most, inFlight);
      await clock.sleep(100);
      inFlight -= 1;
      return answer(200);
    }, usualRetries),
  );
  await clock.run(() => Promise.all(all));
  expect(most).toBe(3);
  expect(began).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(clock.monotonicMs()).toBe(400);
});

test('no more are under way than the host says are left, so that it is overrun by one request in each window', async () => {
  const clock = createFakeClock();
  const throttle = create(clock);
  const [limit, windowMs] = [10, 4000];
  const windows: { endsAtMs: number; asked: number }[] = [];
  const work = async (): Promise<WireAnswer> => {
    await clock.sleep(20);
    const last = windows.at(-1);
    const window =
      last && clock.monotonicMs() < last.endsAtMs ? last : { endsAtMs: clock.monotonicMs() + windowMs, asked: 0 };
    if (window !== last) windows.push(window);
    window.asked += 1;
    const headers = { 'ratelimit-remaining': `${Math.max(0, limit - window.asked)};w=4` };
    const waitS = String(Math.ceil((window.endsAtMs - clock.monotonicMs()) / 1000));
    const answered = window.asked <= limit ? answer(200, headers) : answer(429, { ...headers, 'retry-after': waitS });
    await clock.sleep(20);
    return answered;
  };
  await clock.run(() => throttle(work, usualRetries));
  const all = Array.from({ length: 29 }, () => throttle(work, usualRetries));
  const answers = await clock.run(() => Promise.all(all));
  expect(answers.map(({ status }) => status)).toEqual(all.map(() => 200));
  const asked = windows.map((window) => window.asked);
  expect(Math.max(...asked)).toBeLessThanOrEqual(limit + 1);
  expect(asked.length).toBeLessThanOrEqual(4);
});

test('an announcement that comes late does not raise what is left', async () => {
  const clock = createFakeClock();
  const throttle = create(clock);
  const announcing = (left: number, afterMs: number) => () =>
    clock.sleep(afterMs).then(() => answer(200, { 'ratelimit-remaining': String(left) }));
  let [most, now] = [0, 0];
  const counting = async (): Promise<WireAnswer> => {
    now += 1;
    most = Math.max(most, now);
    await clock.sleep(100);
    now -= 1;
    return answer(200);
  };
  const late = throttle(announcing(50, 20), usualRetries);
  await clock.run(() => throttle(announcing(2, 10), usualRetries));
  await clock.run(() => late);
  await clock.run(() => Promise.all([1, 2, 3, 4, 5].map(() => throttle(counting, usualRetries))));
  expect(most).toBe(2);
  await clock.run(() => throttle(announcing(50, 10), usualRetries));
  await clock.run(() => Promise.all([1, 2, 3, 4, 5].map(() => throttle(counting, usualRetries))));
  expect(most).toBe(5);
});

test('a host that keeps sending us away keeps a thousand callers no longer than two minutes and a half', async () => {
  const clock = createFakeClock();
  const throttle = create(clock);
  let asked = 0;
  const work = (): Promise<WireAnswer> => {
    asked += 1;
    return Promise.resolve(asked % 2 === 0 ? answer(429, { 'retry-after': '5' }) : answer(200));
  };
  const callers = Array.from({ length: 1000 }, () => throttle(work, { ...usualRetries, refusals: 100, budgetMs: 1e9 }));
  const outcomes = await clock.run(() => Promise.allSettled(callers));
  expect(clock.monotonicMs()).toBeLessThanOrEqual(150_000);
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(10);
  await clock.advance(70_000);
  asked = 1;
  expect((await clock.run(() => throttle(work, usualRetries))).status).toBe(200);
});

test('one request is under way where none is left: some are not counted', async () => {
  const clock = createFakeClock();
  const throttle = create(clock);
  let [most, now] = [0, 0];
  const work = async (): Promise<WireAnswer> => {
    now += 1;
    most = Math.max(most, now);
    await clock.sleep(20);
    now -= 1;
    return answer(200, { 'ratelimit-remaining': '0;w=21600' });
  };
  await clock.run(() => throttle(work, usualRetries));
  most = 0;
  const answers = await clock.run(() => Promise.all([1, 2, 3].map(() => throttle(work, usualRetries))));
  expect([answers.length, most]).toEqual([3, 1]);
});

test('a host that reports no number of requests any more is asked as usual after a minute', async () => {
  const clock = createFakeClock();
  const throttle = create(clock);
  await throttle(script(clock, answer(200, { 'ratelimit-remaining': '0' })).work, usualRetries);
  let [most, now] = [0, 0];
  const work = async (): Promise<WireAnswer> => {
    now += 1;
    most = Math.max(most, now);
    await clock.sleep(20);
    now -= 1;
    return answer(200);
  };
  const askFive = () => clock.run(() => Promise.all([1, 2, 3, 4, 5].map(() => throttle(work, usualRetries))));
  await askFive();
  expect(most).toBe(1);
  await clock.advance(61_000);
  await throttle(script(clock, answer(200)).work, usualRetries);
  await askFive();
  expect(most).toBe(5);
});

test('who leaves the queue is not asked for, and takes no place', async () => {
  const clock = createFakeClock();
  const throttle = create(clock, 1);
  const slow = throttle(() => clock.sleep(100).then(() => answer(200)), usualRetries);
  const leaving = new AbortController();
  const { work, askedAtMs } = script(clock, answer(200));
  const left = throttle(work, usualRetries, leaving.signal);
  const stayed = throttle(script(clock, answer(200)).work, usualRetries);
  const reason = new Error('enough');
  await clock.advance(0);
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  await clock.run(() => Promise.all([slow, stayed]));
  expect(askedAtMs).toEqual([]);
});

test('a queue beyond all reason is refused', async () => {
  const clock = createFakeClock();
  const throttle = create(clock, 1);
  // One signal for all would search ten thousand listeners for each new one.
  const leaving = Array.from({ length: 101 }, () => new AbortController());
  setMaxListeners(0, ...leaving.map(({ signal }) => signal));
  const waiting = Array.from({ length: 10_001 }, (_, index) =>
    throttle(() => clock.sleep(1e9).then(() => answer(200)), usualRetries, leaving[index % leaving.length]?.signal),
  );
  expect((await failureOf(throttle(script(clock, answer(200)).work, usualRetries))).code).toBe('rate-limited');
  for (const each of leaving) each.abort(new Error('enough'));
  await Promise.allSettled(waiting.slice(1));
});
