import type { EngineEvent } from '../../../src/domain/outside/engine.ts';
import { describe, expect, test } from 'vitest';
import { exitOf } from '../../../src/domain/processes.ts';
import { create, eventually, inspect, listen, run, type GetFixture } from './fixture.ts';

export function eventRows(fixture: GetFixture): void {
  /** Events during `act`, until one with the action `last`. */
  async function heardDuring(act: () => Promise<unknown>, last: string): Promise<Heard[]> {
    const listening = await listen(fixture().engine);
    await act();
    await eventually(fixture(), () =>
      Promise.resolve(listening.heard.some((event) => 'action' in event && event.action === last)),
    );
    return (await listening.stop()).filter(isHeard);
  }

  const actionsOf = (events: readonly Heard[], kind: Heard['kind']) =>
    events.filter((event) => event.kind === kind).map(({ action }) => action);

  describe('hasPruned()', () => {
    test('tells of a prune in that time, and of none before or after it', async () => {
      const { engine, prune, clock } = fixture();
      await create(fixture(), 'stopped', 'service');
      await run(fixture(), 'running', 'service');
      await prune();
      expect((await engine.listContainers()).map(({ name }) => name)).toEqual(['running']);
      const { nowMs: prunedMs } = await engine.info();
      expect(await engine.hasPruned({ sinceMs: prunedMs - 1000, untilMs: prunedMs })).toBe(true);
      expect(await engine.hasPruned({ sinceMs: prunedMs - 61_000, untilMs: prunedMs - 60_000 })).toBe(false);
      await clock.sleep(50);
      const { nowMs } = await engine.info();
      expect(await engine.hasPruned({ sinceMs: nowMs, untilMs: nowMs + 100 })).toBe(false);
    });

    test('waits for one that is still to come', async () => {
      const { engine, prune, clock } = fixture();
      const { nowMs } = await engine.info();
      const told = engine.hasPruned({ sinceMs: nowMs, untilMs: nowMs + 5000 });
      await clock.sleep(100);
      await prune();
      expect(await told).toBe(true);
    });

    test('takes no removal for a prune', async () => {
      const { engine, clock } = fixture();
      await clock.sleep(50);
      const { nowMs } = await engine.info();
      await engine.removeContainer(await create(fixture(), 'one', 'service'));
      expect(await engine.hasPruned({ sinceMs: nowMs, untilMs: nowMs + 500 })).toBe(false);
    });
  });

  describe('pastEvents()', () => {
    const actions = (events: readonly EngineEvent[]) =>
      events.flatMap((event) => ('action' in event ? [[event.action, event.attributes['exitCode']]] : []));
    const endsOf = async (id: string) => {
      const { engine } = fixture();
      const { nowMs } = await engine.info();
      const events = await engine.pastEvents({ ids: [id], sinceMs: nowMs - 60_000, untilMs: nowMs + 300 });
      return exitOf(id, undefined, events);
    };

    test('tells the end of a container that the engine has removed itself, with its code', async () => {
      const { engine } = fixture();
      const id = await create(fixture(), 'brief', 'crash', { HostConfig: { AutoRemove: true } });
      await engine.startContainer(id);
      await eventually(fixture(), async () => (await engine.inspectContainer(id)) === undefined);
      expect(await endsOf(id)).toMatchObject({ exitCode: 3, wasRequested: false });
    });

    test('tells whether someone asked for an end', async () => {
      const { engine } = fixture();
      const stopped = await run(fixture(), 'stopped', 'service');
      const removed = await run(fixture(), 'removed', 'service');
      await engine.stopContainer(stopped, { timeoutSeconds: 5 });
      await engine.removeContainer(removed);
      expect(await endsOf(stopped)).toMatchObject({ wasRequested: true });
      expect(await endsOf(removed)).toMatchObject({ wasRequested: true });
    });

    test('tells of no other container and of no other time', async () => {
      const { engine } = fixture();
      const one = await run(fixture(), 'one', 'service');
      const other = await run(fixture(), 'other', 'service');
      await engine.stopContainer(one, { timeoutSeconds: 5 });
      const { nowMs } = await engine.info();
      const told = await engine.pastEvents({ ids: [one], sinceMs: nowMs - 60_000, untilMs: nowMs + 300 });
      expect(told.every((event) => 'id' in event && event.id === one)).toBe(true);
      expect(actions(told).map(([action]) => action)).toContain('die');
      expect(await engine.pastEvents({ ids: [one, other], sinceMs: nowMs - 120_000, untilMs: nowMs - 60_000 })).toEqual(
        [],
      );
    });
  });

  describe('events()', () => {
    test('begins with "connected" and ends when the caller gives up', async () => {
      const listening = await listen(fixture().engine);
      expect(await listening.stop()).toEqual([{ kind: 'connected' }]);
    });

    test("tells a container's life in order", async () => {
      const { engine } = fixture();
      const events = await heardDuring(async () => {
        const id = await run(fixture(), 'one', 'service');
        await engine.stopContainer(id, { timeoutSeconds: 5 });
        await engine.startContainer(id);
        await engine.removeContainer(id);
      }, 'destroy');
      const actions = actionsOf(events, 'container');
      // Since 26 the engine may complete the stop before it reports the exit. A busy one kills after five seconds.
      const isSecondKill = (action: string, place: number) => action === 'kill' && actions[place - 1] === 'kill';
      expect(actions.filter((action, place) => action !== 'stop' && !isSecondKill(action, place))).toEqual([
        'create',
        'start',
        'kill',
        'die',
        'start',
        'kill',
        'die',
        'destroy',
      ]);
      expect(actions.indexOf('stop')).toBeGreaterThan(actions.indexOf('kill'));
    });

    test('tells of a start when its time can be inspected, a start by the restart policy too', async () => {
      const { engine } = fixture();
      const giveUp = new AbortController();
      const starts: { readonly toldAtMs: number; readonly startedAtMs: number }[] = [];
      const HostConfig = { RestartPolicy: { Name: 'always' } };
      const id = await create(fixture(), 'one', 'crash', { HostConfig });
      for await (const event of engine.events(giveUp.signal)) {
        if (event.kind === 'connected') await engine.startContainer(id);
        if (event.kind !== 'container' || event.action !== 'start') continue;
        const { startedAt } = (await inspect(fixture(), id)).state;
        starts.push({ toldAtMs: event.timeMs, startedAtMs: Date.parse(startedAt) });
        if (starts.length === 3) break;
      }
      giveUp.abort();
      // Without a pause between two starts, an inspection may show the next one already.
      for (const [index, { startedAtMs }] of starts.slice(1).entries())
        expect(startedAtMs).toBeGreaterThan(starts[index]?.toldAtMs ?? Infinity);
    });

    test('carries id, name, image, labels, and the time', async () => {
      const { image, clock } = fixture();
      const [created] = await heardDuring(
        () => create(fixture(), 'one', 'service', { Labels: { own: 'label' } }),
        'create',
      );
      expect(created).toMatchObject({
        kind: 'container',
        attributes: { name: 'one', image: image('service'), own: 'label' },
      });
      expect(created?.id).toMatch(/^[0-9a-f]{64}$/);
      expect(Math.abs((created?.timeMs ?? 0) - clock.nowMs())).toBeLessThan(5000);
    });

    test('tells both names of a rename', async () => {
      const id = await create(fixture(), 'one', 'service');
      const events = await heardDuring(() => fixture().engine.renameContainer(id, 'two'), 'rename');
      const renames = events.filter(({ action }) => action === 'rename');
      expect(renames).toMatchObject([{ action: 'rename', id, attributes: { name: 'two', oldName: '/one' } }]);
    });

    test('tells the code of an end', async () => {
      const events = await heardDuring(() => run(fixture(), 'one', 'crash'), 'die');
      expect(events.find(({ action }) => action === 'die')?.attributes['exitCode']).toBe('3');
    });

    test('tells the signals of a stop', async () => {
      const id = await run(fixture(), 'one', 'deaf');
      const events = await heardDuring(() => fixture().engine.stopContainer(id, { timeoutSeconds: 0 }), 'stop');
      const signals = events.filter(({ action }) => action === 'kill').map(({ attributes }) => attributes['signal']);
      expect(signals).toEqual(['15', '9']);
    });

    test('tells health, and nothing of the probes', async () => {
      const events = await heardDuring(() => run(fixture(), 'one', 'healthy'), 'health_status: healthy');
      expect(actionsOf(events, 'container')).toEqual(['create', 'start', 'health_status: healthy']);
    });

    test('tells a change of the restart policy', async () => {
      const id = await create(fixture(), 'one', 'service');
      const events = await heardDuring(
        () => fixture().engine.updateRestartPolicy(id, { Name: 'always', MaximumRetryCount: 0 }),
        'update',
      );
      expect(actionsOf(events, 'container')).toEqual(['update']);
    });

    test('tells of images: pull, tag, untag, delete', async () => {
      const { engine, publish } = fixture();
      const { reference, repository } = await publish('evented', { version: 'evented' });
      const events = await heardDuring(async () => {
        await engine.pullImage({ reference });
        const { id = '' } = (await engine.inspectImage(reference)) ?? {};
        await engine.tagImage(id, `${repository}:second`);
        await engine.removeImage(`${repository}:second`);
        await engine.removeImage(id);
      }, 'delete');
      expect(actionsOf(events, 'image')).toEqual(['pull', 'tag', 'untag', 'untag', 'untag', 'delete']);
      expect(events.find(({ action }) => action === 'pull')?.id).toBe(reference);
      expect(events.find(({ action }) => action === 'tag')?.attributes['name']).toBe(`${repository}:second`);
    });

    test('reaches every listener', async () => {
      const listeners = [await listen(fixture().engine), await listen(fixture().engine)];
      await create(fixture(), 'one', 'service');
      for (const { heard } of listeners) await eventually(fixture(), () => Promise.resolve(heard.length === 2));
      for (const { stop } of listeners) await stop();
    });
  });
}

type Heard = Extract<EngineEvent, { action: string }>;

function isHeard(event: EngineEvent): event is Heard {
  return event.kind !== 'connected';
}
