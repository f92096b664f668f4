import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { createSessionLimit } from './ssh.ts';

describe('createSessionLimit()', () => {
  function scene() {
    const clock = createFakeClock();
    const turns = createSessionLimit({ clock, host: 'ssh://host' });
    const begun: string[] = [];
    const take = async (name: string, socket: 'own' | 'shared' | 'events', ms = 30_000, signal?: AbortSignal) => {
      const end = await turns({ socket, ms, signal });
      begun.push(name);
      return end;
    };
    return { clock, turns, begun, take };
  }

  test('two reads at once, or one beside calls that last, in order of arrival', async () => {
    const { clock, begun, take } = scene();
    const first = take('first', 'shared');
    await take('second', 'shared');
    const waiting = ['third', 'fourth', 'fifth'].map((name) => take(name, 'shared'));
    const lasting = await take('lasting', 'own');
    await clock.advance(0);
    expect(begun).toEqual(['first', 'second', 'lasting']);
    const end = await first;
    end();
    end();
    await clock.advance(0);
    expect(begun).toHaveLength(3);
    lasting();
    const endThird = await waiting[0];
    expect(begun.slice(3)).toEqual(['third']);
    endThird?.();
    await waiting[1];
    expect(begun.slice(3)).toEqual(['third', 'fourth']);
  });

  test('a read always has a turn beside calls that last, and events need none', async () => {
    const { begun, take } = scene();
    for (const name of ['a', 'b', 'c']) await take(name, 'own');
    await take('read', 'shared');
    for (const name of ['d', 'e']) await take(name, 'events');
    expect(begun).toEqual(['a', 'b', 'c', 'read', 'd', 'e']);
  });

  test('a wait ends with the deadline and with the signal, and takes no turn then', async () => {
    const { clock, take } = scene();
    const ends = [await take('first', 'shared'), await take('second', 'shared')];
    const late = take('late', 'shared', 5_000).catch((error: unknown) => error);
    const abort = new AbortController();
    const left = take('left', 'shared', 30_000, abort.signal).catch((error: unknown) => error);
    const last = take('last', 'shared');
    abort.abort('enough');
    expect(await left).toBe('enough');
    await expect(take('never', 'shared', 30_000, abort.signal)).rejects.toBe('enough');
    await clock.advance(5_000);
    expect(await late).toMatchObject({
      code: 'timeout',
      sent: false,
      message: 'Cannot reach the container engine at "ssh://host": other calls have used all its sessions for 5s',
    });
    ends[0]?.();
    await last;
    expect(clock.sleepers()).toBe(0);
  });

  test('calls that last have a bound, and so has the queue', async () => {
    const { begun, take } = scene();
    const lasting = await Promise.all(Array.from({ length: 32 }, () => take('lasting', 'own')));
    const next = take('next', 'own');
    await take('read', 'shared');
    const queued = Array.from({ length: 999 }, () => take('queued', 'shared').catch(() => undefined));
    await expect(take('one more', 'shared')).rejects.toMatchObject({ code: 'timeout', sent: false });
    expect(begun).toHaveLength(33);
    lasting[0]?.();
    await next;
    expect(queued).toHaveLength(999);
  });
});
