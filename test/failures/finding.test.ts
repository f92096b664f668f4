import type { Engine } from '../../src/domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { countCalls } from '../support/engine/counted-engine.ts';
import { dependsOn, everything, setStage } from './rig/stage.ts';

/** Failures while the service reads the engine, before it changes anything. */

describe('looking at the engine', () => {
  test('failure 1: the engine is unreachable while containers are listed: the run fails and says so, the next one works', async () => {
    const stage = await setStage({ web: {} });
    const { control } = stage.scene.sandbox;
    control.stopEngine('crash');
    const { application, events, connection } = stage.live();
    await expect(application.update(everything)).rejects.toMatchObject({ code: 'engine-unreachable' });
    expect(events.map(({ kind }) => kind)).toEqual(['scan_started', 'scan_failed']);
    expect(application.history()).toEqual([]);
    expect(connection.calls).toEqual([]);
    control.startEngine();
    control.startContainer('web');
    const session = await application.update(everything);
    expect(session.containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
    expect(stage.harm()).toEqual([]);
  });

  test.each([
    ['is refused', () => Promise.reject(new ServiceError('engine-refused', 'Cannot inspect "ghost": no such task'))],
    [
      'hangs',
      ({ clock }: { readonly clock: { readonly sleep: (ms: number) => Promise<void> } }) =>
        clock.sleep(30_000).then(() => {
          throw new ServiceError('timeout', 'Cannot inspect "ghost": no answer within 30 s');
        }),
    ],
  ])('failure 2: the inspection of one container %s: only that one is left out', async (_what, inspect) => {
    const stage = await setStage({ ghost: {}, web: {} });
    const ghostId = stage.before.get('ghost')!.id;
    const { outcomes, of } = await stage.update({
      outside: ({ engine, clock }) => ({ engine: haunted(engine, ghostId, () => inspect({ clock })) }),
    });
    expect(outcomes).toEqual({ ghost: 'skipped', web: 'updated' });
    expect(of('ghost').reason).toBe('It could not be inspected, or is gone');
    expect(stage.harm()).toEqual([]);
  });

  test('failure 2: a container that cannot be inspected is in the network of a stale one: that one stays too', async () => {
    const stage = await setStage({
      vpn: {},
      ghost: { body: { HostConfig: { NetworkMode: 'container:vpn' } } },
      web: {},
    });
    const ghostId = stage.before.get('ghost')!.id;
    const refusal = () => Promise.reject(new ServiceError('engine-refused', 'Cannot inspect "ghost": no such task'));
    const { outcomes, of } = await stage.update({
      outside: ({ engine }) => ({ engine: haunted(engine, ghostId, refusal) }),
    });
    expect(outcomes).toEqual({ vpn: 'skipped', ghost: 'skipped', web: 'updated' });
    expect(of('vpn').reason).toContain('"ghost"');
    expect(stage.harm()).toEqual([]);
  });

  test.each(['engine-refused', 'timeout'] as const)(
    'failure 2: the image of one container is not listed, and cannot be inspected either (%s): only that one is left out',
    async (code) => {
      const stage = await setStage({ ghost: {}, web: {} });
      const ghostImage = stage.before.get('ghost')!.imageId;
      const { outcomes, of } = await stage.update({
        outside: ({ engine }) => ({
          engine: {
            ...engine,
            listImages: async (signal) => (await engine.listImages(signal)).filter(({ id }) => id !== ghostImage),
            inspectImage: (id, signal) =>
              id === ghostImage
                ? Promise.reject(new ServiceError(code, 'Cannot inspect an image: it is damaged'))
                : engine.inspectImage(id, signal),
          },
        }),
      });
      expect(outcomes).toMatchObject({ web: 'updated' });
      expect(['unknown', 'skipped', 'failed']).toContain(outcomes['ghost']);
      expect(of('ghost').reason).not.toBe('');
      expect(stage.isReplaced('ghost')).toBe(false);
      expect(stage.harm()).toEqual([]);
    },
  );

  test('failure 29: two containers claim to be the same one of a compose service: both are updated, and so are the others', async () => {
    const same = {
      Labels: {
        'com.docker.compose.project': 'shop',
        'com.docker.compose.service': 'api',
        'com.docker.compose.container-number': '1',
      },
    };
    const stage = await setStage({
      first: { body: same },
      second: { body: same },
      web: { body: dependsOn('shop-api') },
    });
    const { outcomes } = await stage.update();
    expect(outcomes).toEqual({ first: 'updated', second: 'updated', web: 'updated' });
    expect(stage.harm()).toEqual([]);
  });

  test('failure 30: two containers depend on each other: they have no order, everyone else keeps theirs', async () => {
    const stage = await setStage({
      chicken: { body: dependsOn('egg') },
      egg: { body: dependsOn('chicken') },
      vpn: {},
      app: { body: { HostConfig: { NetworkMode: 'container:vpn' } }, next: 'none' },
      web: { body: dependsOn('db') },
      db: {},
    });
    const { outcomes, complaints, events } = await stage.update();
    expect(outcomes).toEqual({
      chicken: 'updated',
      egg: 'updated',
      vpn: 'updated',
      app: 'restarted',
      web: 'updated',
      db: 'updated',
    });
    expect(complaints).toEqual([expect.stringContaining('"chicken", "egg" depend on each other in a circle')]);
    expect(stage.now('app').settings.HostConfig.NetworkMode).toBe(`container:${stage.now('vpn').id}`);
    const completed = events.flatMap((event) => (event.kind === 'update_completed' ? [event.outcome.name] : []));
    expect(completed.indexOf('db')).toBeLessThan(completed.indexOf('web'));
    expect(stage.harm()).toEqual([]);
  });

  test('pitfall 17: a run that finds nothing new lists once and inspects no container', async () => {
    const stage = await setStage({ one: { next: 'none' }, two: { next: 'none' }, three: { next: 'none' } });
    const { engine, calls } = countCalls(stage.scene.sandbox.engine);
    const { outcomes } = await stage.update({ outside: () => ({ engine }) });
    expect(outcomes).toEqual({ one: 'fresh', two: 'fresh', three: 'fresh' });
    expect(calls.listContainers).toBe(1);
    expect(calls.inspectContainer).toBeUndefined();
  });
});

function haunted(engine: Engine, id: string, inspect: () => Promise<never>): Engine {
  return {
    ...engine,
    inspectContainer: (asked, signal) => (asked === id ? inspect() : engine.inspectContainer(asked, signal)),
  };
}
