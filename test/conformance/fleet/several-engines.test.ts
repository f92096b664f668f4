import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { createMetrics } from '../../../src/interfaces/metrics/metrics.ts';
import { followEvents } from '../../support/http/event-reader.ts';
import { type HttpScene, startHttp } from '../../support/http/http-scene.ts';
import { createFleetScene, type FleetScene } from '../../support/scene/fleet-scene.ts';
import { describedAsk } from '../described/described.ts';

type Named = { readonly engine?: string; readonly name: string };

const named = (entries: readonly Named[]) => entries.map(({ engine, name }) => `${engine}/${name}`);

/** Two engines with containers of the same names, over real HTTP. */
describe('the API of several engines', () => {
  let scene: FleetScene;
  let http: HttpScene;

  beforeAll(async () => {
    const clock = createSystemClock();
    scene = createFleetScene({ names: ['near', 'far'], clock, settings: { healthWindowMs: 50 } });
    for (const name of ['web', 'db']) scene.registry.store.publish(`${name}:1`, { version: '1' });
    for (const engine of ['near', 'far']) for (const name of ['web', 'db']) await scene.run(engine, name, `${name}:1`);
    await scene.application.follow();
    const { engines = () => [], status, subscribe } = scene.application;
    const updatesAvailable = () => status().updatesAvailable;
    const metrics = createMetrics({ clock, version: '1.2.3', updatesAvailable, engines });
    subscribe(metrics.record);
    const plain = await startHttp(scene.application, { metrics: metrics.text });
    http = { ...plain, ask: await describedAsk(plain) };
  });
  afterEach(() => scene.engines['far']?.behave('well'));
  afterAll(async () => {
    await http.stop();
    await scene.close();
  });

  const post = (path: string, body?: object) =>
    http.ask(path, {
      method: 'POST',
      ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });

  test('every list of containers and images says the engine, and gives those of ?engine= alone', async () => {
    for (const path of ['/v1/containers', '/v1/containers/details'] as const) {
      const all = (await http.ask(path)).json();
      expect(named(all.containers).toSorted()).toEqual(['far/db', 'far/web', 'near/db', 'near/web']);
      const far = (await http.ask(`${path}?engine=far`)).json();
      expect(named(far.containers).toSorted()).toEqual(['far/db', 'far/web']);
      expect(far.count).toBe(2);
    }
    const images = (await http.ask('/v1/images?engine=near&engine=near')).json();
    expect(images.images.map(({ engine }: Named) => engine)).toEqual(['near', 'near']);
    const both = (await http.ask('/v1/containers?engine=near,far')).json();
    expect(both.count).toBe(4);
  });

  test('a name that no engine has is a 400, wherever an engine can be named', async () => {
    const replies = await Promise.all([
      ...['containers', 'containers/details', 'images'].map((path) => http.ask(`/v1/${path}?engine=fat`)),
      ...['check?engine=fat', 'update?engine=fat', 'rollback?container=web&engine=fat'].map((path) =>
        post(`/v1/${path}`),
      ),
      post('/v1/decisions', { container: 'web', decision: 'skip', digest: 'x', engine: 'fat' }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 400));
    for (const { text } of replies) expect(text).toContain('no engine is called');
  });

  test('an empty name is a 400 too, because it would mean all engines', async () => {
    const replies = await Promise.all([http.ask('/v1/containers?engine='), post('/v1/update?engine=,')]);
    for (const { status, text } of replies) {
      expect(status).toBe(400);
      expect(text).toContain('it is empty');
    }
  });

  test('a check of one engine asks about that one, and says so of every entry', async () => {
    const report = (await post('/v1/check?engine=far')).json();
    expect(named(report.containers).toSorted()).toEqual(['far/db', 'far/web']);
    expect(report.engines).toMatchObject([{ name: 'far', result: 'ran' }]);
  });

  test('a decision about a name on two engines needs the engine, and is listed and taken back with it', async () => {
    const { digest } = scene.registry.store.publish('web:1', { version: '2' });
    await post('/v1/check');
    const skip = { container: 'web', decision: 'skip', digest };
    const unclear = await post('/v1/decisions', skip);
    expect(unclear.status).toBe(400);
    expect(unclear.text).toContain('it is on several engines (near, far): name one of them with engine');
    const taken = await post('/v1/decisions', { ...skip, engine: 'far' });
    expect([taken.status, taken.json()]).toMatchObject([201, { engine: 'far', container: 'web' }]);
    const report = (await post('/v1/check?container=web')).json();
    expect(report.containers).toMatchObject([
      { engine: 'near', status: 'stale' },
      { engine: 'far', status: 'held', hold: 'skipped' },
    ]);
    expect((await http.ask('/v1/decisions')).json().decisions).toMatchObject([{ engine: 'far', container: 'web' }]);
    const strange = await post('/v1/decisions', { ...skip, container: 'cache', engine: 'far' });
    expect(strange.status).toBe(404);
    const ended = await http.ask(`/v1/decisions/${taken.json().id}`, { method: 'DELETE' });
    expect(ended.json()).toMatchObject({ engine: 'far', container: 'web' });
  });

  test('an update with one engine away is told with its engines, at once, in the history and in events', async () => {
    const events = await followEvents(http.url);
    scene.registry.store.publish('db:1', { version: '2' });
    scene.engines['far']?.behave('refusing');
    const reply = await post('/v1/update?container=db');
    expect(reply.status).toBe(200);
    const { run_id: runId, containers, engines } = reply.json();
    expect(containers).toMatchObject([
      { engine: 'near', name: 'db', outcome: 'updated' },
      { engine: 'far', name: 'db', outcome: 'unknown', reason: expect.stringContaining('refused') },
    ]);
    expect(engines).toMatchObject([
      { name: 'near', result: 'ran', duration_ms: expect.any(Number) },
      { name: 'far', result: 'unreachable', error: expect.stringContaining('refused') },
    ]);
    const { entries } = (await http.ask('/v1/history')).json();
    expect(entries.at(-1)).toMatchObject({ run_id: runId, updated: 1 });
    expect(entries.at(-1).engines).toEqual(engines);

    await events.until((text) => text.includes('scan_completed'));
    events.end();
    const told = (type: string) => events.text().split(`event: ${type}\n`).length - 1;
    expect([told('scan_started'), told('scan_completed'), told('engine_unreachable')]).toEqual([1, 1, 1]);
    expect(events.text()).toMatch(/event: update_completed\n(?:.*\n)*?data: .*"engine":"near"/);

    expect((await http.ask('/v1/engines')).json()).toMatchObject({
      count: 2,
      engines: [
        {
          name: 'near',
          address: 'tcp://near',
          kind: 'docker',
          version: '20.10.24',
          reachable: true,
          since: expect.any(String),
          containers: 2,
          updates_available: 1,
          last_run: expect.any(String),
        },
        { name: 'far', reachable: false, since: expect.any(String), error: expect.stringContaining('refused') },
      ],
    });
    const ready = await http.ask('/readyz', { token: null });
    expect([ready.status, ready.json()]).toEqual([200, { status: 'ok', unreachable: ['far'] }]);
    const metrics = (await http.ask('/v1/metrics')).text;
    for (const line of [
      'upkeep_engine_up{engine="near"} 1',
      'upkeep_engine_up{engine="far"} 0',
      'upkeep_engine_containers{engine="far"} 2',
      'upkeep_engine_updates_available{engine="near"} 1',
    ])
      expect(metrics).toContain(`${line}\n`);
    expect(metrics).toMatch(/^upkeep_engine_last_run_timestamp_seconds\{engine="near"\} [1-9]\d+$/m);
    expect(metrics).toMatch(/^watchtower_containers_scanned 2$/m);
  });
});
