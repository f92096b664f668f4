import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createTestStore, createTestTarget, networkFailure, sent } from '../../../test/support/notify/notify-scene.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import { messageOf } from '../../../test/support/notify/outbox-arbitrary.ts';
import type { Message, SendOutcome, Target } from '../../domain/notification/message.ts';
import { outboxBounds, type OutboxStore } from '../../domain/notification/outbox.ts';
import { type DeliveryParts, openDelivery } from './delivery.ts';

type Parts = Partial<DeliveryParts> & { readonly clock: FakeClock; readonly targets: readonly Target[] };

const open = (parts: Parts) =>
  openDelivery({
    store: undefined,
    retryMs: 30_000,
    log: createTestLog(),
    chance: () => 0.5,
    ...parts,
  });

const message = (id: string, clock: FakeClock) => messageOf(id, { createdAtMs: clock.nowMs() });

describe('the delivery', () => {
  test('sends messages in order, each as often as it takes, and a service that is down for ten minutes gets all', async () => {
    const clock = createFakeClock();
    const upAtMs = clock.nowMs() + 600_000;
    const target = createTestTarget('ops', () => (clock.nowMs() < upAtMs ? networkFailure : sent));
    const log = createTestLog();
    const delivery = await open({ clock, targets: [target], log });
    for (const id of ['1', '2', '3']) delivery.put({ target: 'ops', message: message(id, clock) });
    await clock.advance(599_000);
    expect(target.received).toEqual([]);
    expect(delivery.status()).toMatchObject([
      { pending: 3, sent: 0, failed: 0, lastFailure: { reason: 'connection refused' } },
    ]);
    await clock.advance(600_000);
    expect(target.received.map(({ id }) => id)).toEqual(['1', '2', '3']);
    expect(delivery.status()).toMatchObject([{ pending: 0, sent: 3, failed: 0, lost: 0, lastFailure: undefined }]);
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await delivery.close();
    expect(clock.sleepers()).toBe(0);
  });

  test('an attempt is on the disk before it is made, so that a crash in it is known', async () => {
    const clock = createFakeClock();
    const store = createTestStore();
    const known: string[] = [];
    const target = createTestTarget('ops', () => {
      known.push(store.records.map(({ kind }) => kind).join(' '));
      return sent;
    });
    const delivery = await open({ clock, targets: [target], store });
    delivery.put({ target: 'ops', message: message('1', clock) });
    await clock.advance(0);
    await delivery.close();
    expect(known).toEqual(['put try']);
  });

  test('one target that does not answer holds up no other', async () => {
    const clock = createFakeClock();
    const hanging = createTestTarget('hanging', () => new Promise<SendOutcome>(() => undefined));
    const well = createTestTarget('well');
    const delivery = await open({ clock, targets: [hanging, well] });
    for (const target of ['hanging', 'well']) delivery.put({ target, message: message('1', clock) });
    await clock.advance(0);
    expect(well.received).toHaveLength(1);
    await clock.advance(15_000);
    expect(delivery.status()).toMatchObject([{ retried: 1 }, { sent: 1 }]);
  });

  test('what waits for a time of the day comes at it, whichever way someone sets the clock meanwhile', async () => {
    const hourMs = 3_600_000;
    const clock = createFakeClock();
    const target = createTestTarget('ops');
    const delivery = await open({ clock, targets: [target] });
    const put = (id: string) =>
      delivery.put({ target: 'ops', message: message(id, clock), dueAtMs: clock.nowMs() + 8 * hourMs, hold: 'digest' });
    put('1');
    await clock.advance(hourMs);
    clock.jumpWallClock(7 * hourMs);
    await clock.advance(60_000);
    expect(target.received.map(({ id }) => id)).toEqual(['1-due']);
    put('2');
    await clock.advance(hourMs);
    clock.jumpWallClock(-10 * hourMs);
    await clock.advance(16 * hourMs);
    expect(target.received).toHaveLength(1);
    await clock.advance(hourMs);
    expect(target.received.map(({ id }) => id)).toEqual(['1-due', '2-due']);
    await delivery.close();
    expect(clock.sleepers()).toBe(0);
  });

  test('an end waits for at most five seconds, and keeps in the file what it could not send', async () => {
    const clock = createFakeClock();
    const targets = ['a', 'b'].map((name) => createTestTarget(name, () => new Promise<SendOutcome>(() => undefined)));
    const store = createTestStore();
    const delivery = await open({ clock, targets, store });
    for (const { name } of targets) delivery.put({ target: name, message: message('1', clock) });
    const beganMs = clock.monotonicMs();
    await clock.run(() => delivery.close());
    expect(clock.monotonicMs() - beganMs).toBe(4500);
    const again = createTestTarget('a');
    const next = await open({ clock, targets: [again, createTestTarget('b')], store });
    await clock.advance(3_600_000);
    expect(again.received).toMatchObject([{ id: '1' }]);
    await next.close();
  });

  test('an end waits for three seconds when the process was asked to end, which may have waited before', async () => {
    const clock = createFakeClock();
    const ending = new AbortController();
    const targets = [createTestTarget('a', () => new Promise<SendOutcome>(() => undefined))];
    const delivery = await open({ clock, targets, ending: ending.signal });
    delivery.put({ target: 'a', message: message('1', clock) });
    ending.abort();
    const beganMs = clock.monotonicMs();
    await clock.run(() => delivery.close());
    expect(clock.monotonicMs() - beganMs).toBe(3000);
  });

  test('an end sends what was to wait for its delay, and without a file also what was held', async () => {
    const clock = createFakeClock();
    const target = createTestTarget('a');
    const delivery = await open({ clock, targets: [target] });
    delivery.put({ target: 'a', message: message('1', clock), dueAtMs: clock.nowMs() + 60_000 });
    for (const id of ['2', '3'])
      delivery.put({ target: 'a', message: message(id, clock), dueAtMs: clock.nowMs() + 7_200_000, hold: 'quiet' });
    await clock.run(() => delivery.close());
    expect(target.received.map(({ text }) => text)).toEqual(['text 1', 'text 2\n\ntext 3']);
  });

  test('what a service asks for with Retry-After is kept to', async () => {
    const clock = createFakeClock();
    const asked: number[] = [];
    const target = createTestTarget('a', () => {
      asked.push(clock.monotonicMs());
      return asked.length < 3 ? { kind: 'failed', failure: 'rate', reason: 'slow down', retryAfterMs: 7000 } : sent;
    });
    const delivery = await open({ clock, targets: [target] });
    delivery.put({ target: 'a', message: message('1', clock) });
    await clock.advance(60_000);
    expect(asked).toEqual([0, 7000, 14_000]);
    await delivery.close();
  });

  test('a target that is gone is asked once, its message is given up, and the next one is tried', async () => {
    const clock = createFakeClock();
    const log = createTestLog();
    const target = createTestTarget('a', ({ id }) =>
      id === '1' ? { kind: 'failed', failure: 'gone', reason: 'Unknown Webhook' } : sent,
    );
    const delivery = await open({ clock, targets: [target], log });
    for (const id of ['1', '2']) delivery.put({ target: 'a', message: message(id, clock) });
    await clock.advance(0);
    expect(target.received.map(({ id }) => id)).toEqual(['2']);
    expect(delivery.status()).toMatchObject([{ failed: 1, sent: 1, pending: 0 }]);
    expect(log.lines.filter(({ level }) => level === 'error').map((line) => line.message)).toEqual([
      'Cannot notify a: Unknown Webhook; the message is given up',
    ]);
  });

  test('a full outbox loses the oldest of the busiest target, and says so', async () => {
    const clock = createFakeClock();
    const targets = [createTestTarget('a', () => networkFailure), createTestTarget('b', () => networkFailure)];
    const log = createTestLog();
    const delivery = await open({ clock, targets, log, bounds: { ...outboxBounds, maxEntries: 5 } });
    delivery.put({ target: 'b', message: message('0', clock) });
    for (const id of ['1', '2', '3', '4', '5', '6']) delivery.put({ target: 'a', message: message(id, clock) });
    expect(delivery.status()).toMatchObject([
      { pending: 4, lost: 2 },
      { pending: 1, lost: 0 },
    ]);
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  test('messages for targets that are not configured any more are given up with one line', async () => {
    const clock = createFakeClock();
    const store = createTestStore([
      { kind: 'put', target: 'gone', message: message('1', clock), dueAtMs: 0 },
      { kind: 'put', target: 'gone', message: message('2', clock), dueAtMs: 0 },
    ]);
    const log = createTestLog();
    await open({ clock, targets: [createTestTarget('a')], store, log });
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { targets: ['gone'], messages: 2 } }]);
  });

  test('a full disk is told once, and costs no message', async () => {
    const clock = createFakeClock();
    const store = createTestStore();
    const target = createTestTarget('a');
    const log = createTestLog();
    const delivery = await open({ clock, targets: [target], store, log });
    store.failing = true;
    for (const id of ['1', '2']) delivery.put({ target: 'a', message: message(id, clock) });
    await clock.advance(0);
    expect(target.received).toHaveLength(2);
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    store.failing = false;
    delivery.noteFound(['web']);
    await clock.advance(0);
    expect(store.records).toEqual([{ kind: 'found', key: 'web', atMs: clock.nowMs() }]);
  });

  test('a target that throws, though it must not, loses neither the others nor the process', async () => {
    const clock = createFakeClock();
    const target = createTestTarget('a', ({ id }) => {
      if (id === '1') throw new Error('a bug');
      return sent;
    });
    const delivery = await open({ clock, targets: [target] });
    for (const id of ['1', '2']) delivery.put({ target: 'a', message: message(id, clock) });
    await clock.advance(120_000);
    expect(target.received.map(({ id }) => id)).toEqual(['2']);
  });

  test('whatever crashes when, each message arrives at least once, in order, and a second time only after a lost answer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('sent', 'refused', 'lost answer'), { minLength: 1, maxLength: 20 }),
        fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 90_000 }), puts: fc.integer({ min: 0, max: 3 }) }), {
          minLength: 1,
          maxLength: 5,
        }),
        async (answers, lives) => {
          const clock = createFakeClock();
          const disk = createTestStore();
          const arrived: Message[] = [];
          let asked = 0;
          let unanswered = 0;
          let put = 0;
          const live = async (puts: number) => {
            let isDead = false;
            const dying: OutboxStore = {
              ...disk,
              append: (records) => (isDead ? Promise.reject(new Error('dead')) : disk.append(records)),
              replace: (records) => (isDead ? Promise.reject(new Error('dead')) : disk.replace(records)),
            };
            const target = createTestTarget('a', async (message) => {
              if (isDead) return new Promise(() => undefined);
              const answer = answers[asked++ % (answers.length + 1)] ?? 'sent';
              if (answer !== 'refused') arrived.push(message);
              // The answer is delayed, so that a crash can come before it.
              await clock.sleep(2000);
              if (answer === 'lost answer' || isDead) unanswered += 1;
              return answer === 'sent' ? sent : networkFailure;
            });
            const delivery = await open({ clock, targets: [target], store: dying });
            for (let n = 0; n < puts; n += 1) {
              put += 1;
              delivery.put({ target: 'a', message: message(String(put), clock) });
            }
            await clock.advance(0);
            return () => void (isDead = true);
          };
          for (const { afterMs, puts } of lives) {
            const kill = await live(puts);
            await clock.advance(afterMs);
            kill();
          }
          await live(0);
          await clock.advance(2 * 86_400_000);
          const firsts = arrived.filter(({ id }, index) => arrived.findIndex((one) => one.id === id) === index);
          expect(firsts.map(({ id }) => id)).toEqual(Array.from({ length: put }, (_, index) => String(index + 1)));
          expect(arrived.length - firsts.length).toBeLessThanOrEqual(unanswered);
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);
});
