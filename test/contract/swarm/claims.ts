import { describe, expect, test } from 'vitest';
import { changeTo, hasEnded, running, until, type GetSwarm, type SwarmProgram } from './fixture.ts';
import type { ServiceWish } from '../../lab/swarm/service-spec.ts';

/** Compares the updater's report with the facts, which may differ. */
export function swarmClaimRows(get: GetSwarm): void {
  const updated = async (program: SwarmProgram, wish: ServiceWish = {}) => {
    const { create, image } = get();
    const id = await create('web', image('v1'), wish);
    const count = wish.global ? 3 : (wish.replicas ?? 2);
    await until(get(), id, ({ tasks }) => running(tasks).length === count);
    await changeTo(get(), id, image(program));
    return { id, old: image('v1'), next: image(program), count };
  };

  describe('what the updater says', () => {
    test.each([
      ['stop-first', { update: { Order: 'stop-first' } }],
      ['start-first', { update: { Order: 'start-first' } }],
      ['global', { global: true }],
    ])('completed, of a good version that all run (%s)', async (_, wish) => {
      const { id, next, count } = await updated('v2', wish);
      const { service, tasks } = await until(get(), id, hasEnded);
      expect(service.update?.state).toBe('completed');
      expect(running(tasks, next)).toHaveLength(count);
    });

    test('nothing, of an update without replicas', async () => {
      const { create, image, clock } = get();
      const id = await create('web', image('v1'), { replicas: 0 });
      await changeTo(get(), id, image('v2'));
      await clock.sleep(500);
      const { service, tasks } = await until(get(), id, () => true);
      expect(service.update).toBeUndefined();
      expect(tasks).toEqual([]);
    });

    test('rollback_completed, of a version that crashes, and of one that is never healthy', async () => {
      for (const program of ['crash', 'sick'] as const) {
        const { id, old } = await updated(program);
        const { service } = await until(get(), id, hasEnded);
        expect(service).toMatchObject({ image: old, update: { state: 'rollback_completed' } });
        expect(service.previous).toBeUndefined();
        await until(get(), id, ({ tasks }) => running(tasks, old).length === 2);
        await get().reset();
      }
    });

    test('paused, of a version that crashes where a failure pauses; the way back is kept', async () => {
      const { id, old, next } = await updated('crash', { update: { FailureAction: 'pause' } });
      const { service } = await until(get(), id, hasEnded);
      expect(service).toMatchObject({ image: next, update: { state: 'paused' }, previous: { image: old } });
    });

    test('completed, of a version that crashes where a failure is no matter', async () => {
      const { id, next } = await updated('crash', { update: { FailureAction: 'continue' } });
      const { service, tasks } = await until(get(), id, hasEnded);
      expect(service.update?.state).toBe('completed');
      const failed = tasks.filter(({ state, image }) => state === 'failed' && image === next);
      expect(failed.length).toBeGreaterThan(0);
      expect(failed[0]).toMatchObject({ error: 'task: non-zero exit (3)', exitCode: 3 });
    });

    test('completed, of a version that crashes when nobody watches any more', async () => {
      const { id, next } = await updated('crash-later', { replicas: 1, update: { Monitor: 100_000_000 } });
      const { service } = await until(get(), id, hasEnded);
      expect(service.update?.state).toBe('completed');
      await until(get(), id, ({ tasks }) => tasks.some(({ state, image }) => state === 'failed' && image === next));
    });

    test('updating, without end, where no node has a port free that is to be taken first', async () => {
      const { id, old } = await updated('v2', { global: true, hostPort: 18_086, update: { Order: 'start-first' } });
      const isRefused = ({ error }: { readonly error: string }) => error.includes('host-mode port already in use');
      const { service, tasks } = await until(get(), id, (seen) => seen.tasks.some(isRefused));
      expect(service.update?.state).toBe('updating');
      expect(running(tasks, old)).toHaveLength(3);
    });

    test('nothing any more, and no way back, after the change of a label', async () => {
      const { id, next } = await updated('v2', { replicas: 1 });
      await until(get(), id, hasEnded);
      await get().label(id, 'note', 'x');
      const { service } = await until(get(), id, () => true);
      expect(service.update).toBeUndefined();
      expect(service.previous?.image).toBe(next);
    });
  });
}
