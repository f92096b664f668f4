import { describe, expect, test } from 'vitest';
import { createUpdateLock } from './update-lock.ts';

describe('createUpdateLock()', () => {
  test('enterNow() throws busy while another is in', () => {
    const lock = createUpdateLock();
    const leave = lock.enterNow();
    expect(() => lock.enterNow()).toThrow(expect.objectContaining({ code: 'busy' }));
    leave();
    lock.enterNow();
  });

  test('enterInTurn() waits, first come first served, and nobody overtakes', async () => {
    const lock = createUpdateLock();
    const order: string[] = [];
    const leave = lock.enterNow();
    const waiting = ['a', 'b', 'c'].map((name) => lock.enterInTurn().then((next) => ({ name, next })));
    leave();
    expect(() => lock.enterNow()).toThrow(expect.objectContaining({ code: 'busy' }));
    for (const one of waiting) {
      const { name, next } = await one;
      order.push(name);
      expect(() => lock.enterNow()).toThrow(expect.objectContaining({ code: 'busy' }));
      next();
    }
    expect(order).toEqual(['a', 'b', 'c']);
    lock.enterNow();
  });

  test('whoever gives up leaves the queue, and the others keep their places', async () => {
    const lock = createUpdateLock();
    const leave = lock.enterNow();
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
    lock.enterNow();
  });

  test('an abort after the turn came changes nothing', async () => {
    const lock = createUpdateLock();
    const leave = lock.enterNow();
    const late = new AbortController();
    const mine = lock.enterInTurn(late.signal);
    leave();
    late.abort();
    const leaveMine = await mine;
    expect(() => lock.enterNow()).toThrow();
    leaveMine();
    lock.enterNow();
  });

  test('does not wait with a signal that is aborted already', async () => {
    await expect(createUpdateLock().enterInTurn(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('leaving twice lets only one in', async () => {
    const lock = createUpdateLock();
    const leave = lock.enterNow();
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
    lock.enterNow();
    for (let index = 0; index < 1000; index += 1) void lock.enterInTurn();
    await expect(lock.enterInTurn()).rejects.toMatchObject({ code: 'busy' });
  });
});
