import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { dataOf, followEvents } from '../support/http/event-reader.ts';
import { startWholeService, type WholeService, type WholeServiceOptions } from '../support/http/whole-service.ts';

/** Error replies to API clients over real HTTP, and the effect of clients that leave. */

describe('the HTTP API', () => {
  let service: WholeService;
  afterEach(() => service.stop());

  async function begin(options: WholeServiceOptions = {}, behaviour: object = {}): Promise<string> {
    service = await startWholeService(options);
    service.publish('web:1', 'old', { behaviour });
    const id = await service.run('web', 'web:1');
    service.publish('web:1', 'new');
    return id;
  }
  const post = (target: string) => service.ask(target, { method: 'POST' });
  const history = async () => (await service.ask('/v1/history')).json().entries as { readonly updated: number }[];

  test('failure 24: an update exceeds its limit while a container is stopped: the client is told, and the container is finished', async () => {
    const id = await begin({}, { stopMs: 600 });
    const reply = await post('/v1/update?timeout=200ms');
    expect(reply.status).toBe(408);
    while ((await history()).length === 0) await sleep(5);
    expect(await history()).toMatchObject([{ updated: 1, failed: 0 }]);
    const { containers } = service.sandbox.control.snapshot();
    expect(Object.keys(containers)).toEqual(['web']);
    expect(containers['web']).toMatchObject({ running: true });
    expect(containers['web']?.id).not.toBe(id);
  });

  test('pitfall 11: checks during an update: the report of the update and its events are as without them', async () => {
    await begin({}, { stopMs: 200 });
    const reader = await followEvents(service.url);
    const updating = post('/v1/update');
    for (let count = 0; count < 5; count += 1) expect((await post('/v1/check')).status).toBe(200);
    const { run_id: runId, summary } = (await updating).json();
    expect(summary).toMatchObject({ scanned: 1, updated: 1 });
    await reader.until((text) => text.includes('"update_completed"') && /scan_completed[^\n]*"updated":1/.test(text));
    const frames = reader
      .text()
      .split('\n\n')
      .filter((frame) => frame.startsWith('id: '));
    const own = frames.map((frame) => dataOf(frame)).filter((event) => JSON.stringify(event).includes(runId));
    expect(own.map(({ type }) => type)).toEqual([
      'scan_started',
      'update_started',
      'update_completed',
      'scan_completed',
    ]);
    expect(await history()).toHaveLength(1);
    reader.end();
  });

  test('pitfall 12: the stream of events tells every update that begins, succeeds and fails', async () => {
    await begin();
    service.publish('bad:1', 'old');
    await service.run('bad', 'bad:1');
    service.publish('bad:1', 'new', { behaviour: { exitsAfterMs: 1, exitCode: 3 } });
    const reader = await followEvents(service.url);
    await post('/v1/update');
    const types = (await reader.frames(6)).map((frame) => dataOf(frame).type as string);
    expect(types.toSorted()).toEqual(
      [
        'scan_started',
        'update_started',
        'update_started',
        'update_completed',
        'update_failed',
        'scan_completed',
      ].toSorted(),
    );
    reader.end();
  });

  test('pitfall 22: readiness tells whether the engine answers, liveness whether the service does', async () => {
    await begin();
    expect((await service.ask('/readyz', { token: null })).status).toBe(200);
    service.sandbox.control.stopEngine('crash');
    expect((await service.ask('/readyz', { token: null })).status).toBe(503);
    expect((await service.ask('/livez', { token: null })).status).toBe(200);
    service.sandbox.control.startEngine();
    expect((await service.ask('/readyz', { token: null })).status).toBe(200);
  });

  test('pitfall 23: a container is listed as stale from the check that found it so until it is updated', async () => {
    await begin();
    const isStale = async () => {
      const [web] = (await service.ask('/v1/containers/details?name=web')).json().containers as { stale: boolean }[];
      return web?.stale;
    };
    while ((await isStale()) === undefined) await sleep(2);
    expect(await isStale()).toBe(false);
    await post('/v1/check');
    expect(await isStale()).toBe(true);
    await post('/v1/update');
    while (await isStale()) await sleep(2);
  });
});
