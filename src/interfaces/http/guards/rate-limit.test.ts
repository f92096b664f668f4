import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAttemptLimiter, createRateLimiter } from './clients.ts';

describe('createRateLimiter()', () => {
  test('decides like a plain list of all requests, whatever the clients and the times', () => {
    const step = fc.record({ client: fc.constantFrom('a', 'b', 'c'), afterMs: fc.nat(400) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 120 }), (limit, steps) => {
        let nowMs = 5;
        const limiter = createRateLimiter({ limit, windowMs: 1000, monotonicMs: () => nowMs });
        const model = new Map<string, number[]>();
        for (const { client, afterMs } of steps) {
          nowMs += afterMs;
          const inWindow = (model.get(client) ?? []).filter((atMs) => atMs > nowMs - 1000);
          const allowed = inWindow.length < limit;
          if (allowed) inWindow.push(nowMs);
          model.set(client, inWindow);
          expect(limiter.take(client)).toEqual({
            allowed,
            remaining: limit - inWindow.length,
            resetMs: (inWindow[0] ?? nowMs) + 1000 - nowMs,
          });
        }
      }),
      { numRuns: 500 },
    );
  });

  test('lets the next one pass exactly when the oldest has left the window, not before', () => {
    let nowMs = 0;
    const { take } = createRateLimiter({ limit: 2, windowMs: 60_000, monotonicMs: () => nowMs });
    const askAt = (atMs: number) => {
      nowMs = atMs;
      return take('a').allowed;
    };
    expect([0, 30_000, 59_999, 60_000, 60_001, 89_999, 90_000].map(askAt)).toEqual([
      true,
      true,
      false,
      true,
      false,
      false,
      true,
    ]);
  });

  test('gives a refused client the time after which it is served', () => {
    let nowMs = 0;
    const { take } = createRateLimiter({ limit: 1, windowMs: 60_000, monotonicMs: () => nowMs });
    take('a');
    nowMs = 12_345;
    const { resetMs } = take('a');
    nowMs += resetMs - 1;
    expect(take('a').allowed).toBe(false);
    nowMs += 1;
    expect(take('a').allowed).toBe(true);
  });

  test('forgets clients that have been silent for a window', () => {
    let nowMs = 0;
    const limiter = createRateLimiter({ limit: 60, windowMs: 60_000, monotonicMs: () => nowMs });
    for (let client = 0; client < 1000; client += 1) limiter.take(String(client));
    nowMs = 60_001;
    for (let client = 0; client < 600; client += 1) limiter.take('one');
    expect(limiter.clients()).toBe(1);
  });

  test('hundreds of thousands of addresses take bounded memory, and the last cost no more than the first', () => {
    let nowMs = 0;
    const limiter = createRateLimiter({ limit: 60, windowMs: 60_000, monotonicMs: () => (nowMs += 0.001) });
    // A look at every client for each request takes longer than a test may.
    for (let client = 0; client < 500_000; client += 1) limiter.take(`2001:db8::${client.toString(16)}`);
    expect(limiter.clients()).toBe(65_536);
  });

  test('who floods from many addresses does not free a client that keeps asking', () => {
    let nowMs = 0;
    const limiter = createRateLimiter({ limit: 3, windowMs: 60_000, monotonicMs: () => nowMs, maxClients: 100 });
    let allowed = 0;
    for (let round = 0; round < 30; round += 1) {
      nowMs += 1;
      if (limiter.take('busy').allowed) allowed += 1;
      for (let other = 0; other < 20; other += 1) limiter.take(`${round}.${other}`);
    }
    expect(allowed).toBe(3);
  });

  test('holds no more requests than its bound, with one client or many', () => {
    const options = { limit: 50, windowMs: 1000, monotonicMs: () => 0, maxRequests: 100 };
    const limiter = createRateLimiter(options);
    for (const client of ['a', 'b', 'c', 'd']) for (let each = 0; each < 50; each += 1) limiter.take(client);
    expect(limiter.clients()).toBe(2);
  });
});

describe('createAttemptLimiter()', () => {
  test('refuses a client that flooded alone, and lets others sign in: its refused attempts count for nobody', () => {
    const take = createAttemptLimiter({ ofClient: 2, ofAll: 4, monotonicMs: () => 0 });
    const flood = Array.from({ length: 100 }, () => take('mallory').allowed);
    expect(flood.filter(Boolean)).toHaveLength(2);
    expect([take('anna'), take('bert')]).toMatchObject([{ allowed: true }, { allowed: true }]);
  });

  test('refuses everybody above the limit of all, and again serves as many when a minute is over', () => {
    let nowMs = 0;
    const take = createAttemptLimiter({ ofClient: 2, ofAll: 3, monotonicMs: () => nowMs });
    const round = () => ['a', 'b', 'c', 'd'].map((client) => take(client).allowed);
    expect(round()).toEqual([true, true, true, false]);
    nowMs = 60_000;
    expect(round()).toEqual([true, true, true, false]);
  });

  test('tells the wait of the limit that refuses', () => {
    let nowMs = 0;
    const take = createAttemptLimiter({ ofClient: 1, ofAll: 2, monotonicMs: () => nowMs });
    take('a');
    nowMs = 20_000;
    take('b');
    nowMs = 30_000;
    expect(take('b')).toMatchObject({ allowed: false, resetMs: 50_000 });
    expect(take('c')).toMatchObject({ allowed: false, resetMs: 30_000 });
  });
});
