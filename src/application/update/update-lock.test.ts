import { describe, expect, test } from 'vitest';
import { createUpdateLock } from './session.ts';

describe('createUpdateLock()', () => {
  test('enterAlone() throws busy while another is in', async () => {
    const lock = createUpdateLock();
    const leave = await lock.enterAlone();
    await expect(lock.enterAlone()).rejects.toMatchObject({ code: 'busy' });
    leave();
    await lock.enterAlone();
  });

  test('enterInTurn() waits, first come first served, and nobody overtakes', async () => {
    const lock = createUpdateLock();
    const order: string[] = [];
    const leave = await lock.enterAlone();
    const waiting = ['a', 'b', 'c'].map((name) => lock.enterInTurn().then((next) => ({ name, next })));
    leave();
    await expect(lock.enterAlone()).rejects.toMatchObject({ code: 'busy' });
    for (const one of waiting) {
      const { name, next } = await one;
      order.push(name);
      await expect(lock.enterAlone()).rejects.toMatchObject({ code: 'busy' });
      next();
    }
    expect(order).toEqual(['a', 'b', 'c']);
    await lock.enterAlone();
  });

  test('whoever gives up leaves the queue, and the others keep their places', async () => {
    const lock = createUpdateLock();
    const leave = await lock.enterAlone();
    const gaveUp = new AbortController();
    const tooLate = new AbortController();
    const first = lock.enterInTurn(gaveUp.signal);
    const second = lock.enterInTurn(tooLate.signal);
    const third = lock.enterInTurn();
    gaveUp.abort();
    tooLate.abort(new DOMException('too late', 'TimeoutError'));
    await expect(first).rejects.toMatchObject({ code: 'cancelled', message: 'Cannot update: it was cancelled' });
    await expect(second).rejects.toMatchObject({ code: 'timeout', message: 'Cannot update: it did not end in time' });
    leave();
    (await third)();
    await lock.enterAlone();
  });

  test('an abort after the turn came changes nothing', async () => {
    const lock = createUpdateLock();
    const leave = await lock.enterAlone();
    const late = new AbortController();
    const mine = lock.enterInTurn(late.signal);
    leave();
    late.abort();
    const leaveMine = await mine;
    await expect(lock.enterAlone()).rejects.toThrow();
    leaveMine();
    await lock.enterAlone();
  });

  test('does not wait with a signal that is aborted already', async () => {
    await expect(createUpdateLock().enterInTurn(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('leaving twice lets only one in', async () => {
    const lock = createUpdateLock();
    const leave = await lock.enterAlone();
    const [second, third] = [lock.enterInTurn(), lock.enterInTurn()];
    leave();
    leave();
    const leaveSecond = await second;
    await expect(Promise.race([third.then(() => 'in'), Promise.resolve('waiting')])).resolves.toBe('waiting');
    leaveSecond();
    await third;
  });

  test('the queue has an end', async () => {
    const lock = createUpdateLock();
    await lock.enterAlone();
    for (let index = 0; index < 1000; index += 1) void lock.enterInTurn();
    await expect(lock.enterInTurn()).rejects.toMatchObject({ code: 'busy' });
  });

  test('enterAlone() waits for a repair, and only one may', async () => {
    const lock = createUpdateLock();
    const leaveRepair = await lock.enterForRepair();
    const waiting = lock.enterAlone();
    await expect(lock.enterAlone()).rejects.toMatchObject({ code: 'busy' });
    leaveRepair();
    const leave = await waiting;
    await expect(lock.enterAlone()).rejects.toMatchObject({ code: 'busy' });
    leave();
    await lock.enterAlone();
  });

  test('enterAlone() gives up waiting for a repair when it is told to', async () => {
    const lock = createUpdateLock();
    const leaveRepair = await lock.enterForRepair();
    const gone = new AbortController();
    const waiting = lock.enterAlone(gone.signal);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    leaveRepair();
    await lock.enterAlone();
  });
});
