import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServiceEvent } from '../../src/domain/run/event.ts';
import type { ContainerOutcome } from '../../src/domain/run/session.ts';
import { dataOf, type EventReader, followEvents, type FollowOptions, idOf } from '../support/http/event-reader.ts';
import { createFakeClock } from '../support/clock/fake-clock.ts';
import { eventsToken, type HttpScene, type SceneOptions, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService, type ScriptedService } from '../support/http/scripted-service.ts';

let service: ScriptedService;
let scene: HttpScene;
const readers: EventReader[] = [];

beforeEach(() => start());
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.end();
  await scene.stop();
});

async function start(options: SceneOptions = {}): Promise<void> {
  await scene?.stop();
  service = createScriptedService();
  scene = await startHttp(service, options);
}

/** Fields of every event of this update. */
const updateOfWeb = { run_id: 'run-1', container: 'web', image: 'nginx:1', from: 'sha256:1', to: 'sha256:2' };

describe('GET /v1/events', () => {
  test('stays open, is a stream of events, and is neither kept nor compressed', async () => {
    const reader = await follow({ headers: { 'accept-encoding': 'gzip, deflate, br' } });
    expect(reader.response.statusCode).toBe(200);
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    expect(reader.response.headers['content-encoding']).toBeUndefined();
    await sleep(50);
    expect(reader.isOpen()).toBe(true);
  });

  test('begins with the time after which to come back', async () => {
    const reader = await follow();
    await reader.until((text) => text.length > 0);
    expect(reader.text()).toBe('retry: 5000\n\n');
  });

  test('sends a comment as a sign of life', async () => {
    await start({ limits: { heartbeatMs: 30 } });
    const reader = await follow();
    await reader.until((text) => text.split('\n\n').filter((frame) => frame.startsWith(':')).length >= 3);
  });

  test('sends each event with an id, its kind, and one line of JSON', async () => {
    const reader = await follow();
    service.announce(started('run-1'));
    const [frame = ''] = await reader.frames(1);
    expect(frame).toMatch(/^id: [\da-f]{12}-1\nevent: scan_started\ndata: \{.*\}$/);
    const { type, timestamp, data } = dataOf(frame);
    expect(type).toBe('scan_started');
    expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data).toEqual({
      run_id: 'run-1',
      purpose: 'update',
      trigger: 'http',
      cleanup: true,
      no_restart: false,
      monitor_only: false,
      lifecycle_hooks: false,
      rolling_restart: false,
      label_precedence: false,
      no_pull: false,
      run_once: false,
      use_compose_depends_on: true,
      skip_self_update: false,
      revive_stopped: false,
    });
  });

  test.each([
    [
      'scan_completed',
      completed({ updated: 2, failed: 1 }),
      { run_id: 'run-1', purpose: 'update', scanned: 5, updated: 2, failed: 1, restarted: 0, skipped: 0 },
    ],
    [
      'scan_failed',
      { kind: 'scan_failed', runId: 'run-1', purpose: 'check', error: 'Cannot list', atMs: 0 },
      { run_id: 'run-1', purpose: 'check', error: 'Cannot list' },
    ],
    [
      'image_cleanup',
      {
        kind: 'image_cleanup',
        runId: 'run-1',
        images: [{ imageId: 'sha256:1', imageName: 'nginx:1', containerId: 'abc', containerName: 'web' }],
        atMs: 0,
      },
      {
        run_id: 'run-1',
        images: [{ image_id: 'sha256:1', image_name: 'nginx:1', container_id: 'abc', container_name: 'web' }],
      },
    ],
    [
      'update_started',
      {
        kind: 'update_started',
        runId: 'run-1',
        container: 'web',
        image: 'nginx:1',
        from: 'sha256:1',
        to: 'sha256:2',
        atMs: 0,
      },
      updateOfWeb,
    ],
    [
      'update_completed',
      { kind: 'update_completed', runId: 'run-1', outcome: outcome('updated'), atMs: 0 },
      updateOfWeb,
    ],
    [
      'update_failed',
      { kind: 'update_failed', runId: 'run-1', outcome: outcome('rolled_back'), atMs: 0 },
      { ...updateOfWeb, error: 'It was not healthy', rolled_back: true },
    ],
    [
      'update_failed',
      { kind: 'update_failed', runId: 'run-1', outcome: outcome('failed'), atMs: 0 },
      { ...updateOfWeb, error: 'It was not healthy', rolled_back: false },
    ],
    [
      'update_deferred',
      { kind: 'update_deferred', runId: 'run-1', outcome: outcome('deferred'), atMs: 0 },
      { ...updateOfWeb, reason: 'It was not healthy' },
    ],
  ] as const)('tells of %s', async (kind, event, data) => {
    const reader = await follow();
    service.announce(event);
    const [frame = ''] = await reader.frames(1);
    expect(frame).toContain(`\nevent: ${kind}\n`);
    expect(dataOf(frame).data).toEqual(data);
  });

  test('keeps steps on the way to itself', async () => {
    const reader = await follow();
    service.announce({
      kind: 'container_checked',
      runId: 'r',
      container: 'web',
      image: 'x',
      status: 'fresh',
      reason: '',
    });
    service.announce({ kind: 'containers_selected', runId: 'r', names: ['web'] });
    service.announce({ kind: 'phase_entered', runId: 'r', container: 'web', phase: 'stopping' });
    service.announce({ kind: 'scan_skipped', trigger: 'schedule', reason: 'x', atMs: 0 });
    service.announce(completed({}));
    expect(dataOf((await reader.frames(1))[0]).type).toBe('scan_completed');
  });

  test('with extra=true tells them too, in their place, without an id', async () => {
    const reader = await follow({ extra: true });
    service.announce(started('run-1'));
    service.announce(checkedWeb);
    service.announce({ kind: 'phase_entered', runId: 'run-1', container: 'web', phase: 'stopping' });
    service.announce(pulled('web', 5, 20));
    service.announce(pulled('api', 5, 0));
    service.announce({ kind: 'containers_selected', runId: 'run-1', names: ['web'] });
    service.announce(completed({}));
    const frames = await reader.frames(6);
    expect(frames.map((frame) => [idOf(frame).replace(/^.*-/, ''), dataOf(frame).type])).toEqual([
      ['1', 'scan_started'],
      ['', 'container_checked'],
      ['', 'phase_entered'],
      ['', 'pull_progress'],
      ['', 'pull_progress'],
      ['2', 'scan_completed'],
    ]);
    for (const frame of frames) expect(dataOf(frame).timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(frames.slice(1, 5).map((frame) => dataOf(frame).data)).toEqual([
      {
        run_id: 'run-1',
        container: 'web',
        image: 'nginx:1.27',
        verdict: 'held',
        reason: 'waits for approval',
        hold: 'approval',
        eligible_at: '1970-01-01T00:00:07.000Z',
        retry_at: '1970-01-01T00:00:08.000Z',
        latest_digest: 'sha256:newest',
        candidate_digest: 'sha256:other',
        version: '1.27',
        latest_version: '1.28',
        candidate: 'nginx:1.28',
        candidate_kind: 'minor',
        change: 'minor',
      },
      { run_id: 'run-1', container: 'web', phase: 'stopping' },
      { run_id: 'run-1', container: 'web', percent: 25, current_bytes: 5, total_bytes: 20 },
      { run_id: 'run-1', container: 'api', current_bytes: 5, total_bytes: 0 },
    ]);
  });

  test('of a pull that says more, four a second of each container are told', async () => {
    const clock = createFakeClock();
    await start({ clock });
    const reader = await follow({ extra: true });
    for (let each = 0; each < 50; each += 1) {
      service.announce(pulled('web', each, 50));
      service.announce(pulled('api', each, 50));
      await clock.advance(50);
    }
    service.announce(completed({}));
    await reader.until((text) => text.includes('scan_completed'));
    const told = (await reader.frames(21)).map((frame) => dataOf(frame).data);
    for (const container of ['web', 'api'])
      expect(told.filter((data) => data.container === container).map((data) => data.current_bytes)).toEqual([
        0, 5, 10, 15, 20, 25, 30, 35, 40, 45,
      ]);
  });

  test('a reader that comes back gets events again, and no steps', async () => {
    const first = await follow({ extra: true });
    service.announce(started('1'));
    const [frame] = await first.frames(1);
    service.announce(checkedWeb);
    service.announce(started('2'));
    await first.frames(3);
    const second = await follow({ extra: true, headers: { 'last-event-id': idOf(frame) } });
    service.announce(checkedWeb);
    expect((await second.frames(2)).map((one) => dataOf(one).type)).toEqual(['scan_started', 'container_checked']);
  });

  test('no text from outside can end a line', async () => {
    const reader = await follow();
    service.announce({
      kind: 'scan_failed',
      runId: 'x\ndata: evil',
      purpose: 'check',
      error: 'a\r\nevent: evil\n\nid: 7\u2028\u0000',
      atMs: 0,
    });
    service.announce(completed({}));
    const frames = await reader.frames(2);
    expect(frames[0]?.split('\n')).toHaveLength(3);
    expect(dataOf(frames[0]).data.error).toBe('a\r\nevent: evil\n\nid: 7\u2028\u0000');
  });

  test('sends every event to every reader, in order', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => follow()));
    for (let each = 0; each < 30; each += 1) {
      service.announce(started(`run-${each}`));
      if (each % 7 === 0) await sleep(1);
    }
    for (const reader of all) {
      const frames = await reader.frames(30);
      expect(frames.map((frame) => dataOf(frame).data.run_id)).toEqual(
        Array.from({ length: 30 }, (_, each) => `run-${each}`),
      );
    }
  });

  test('a new reader hears nothing of what was before it came', async () => {
    service.announce(started('before'));
    const reader = await follow();
    service.announce(started('after'));
    expect(dataOf((await reader.frames(1))[0]).data.run_id).toBe('after');
  });
});

describe('Last-Event-ID', () => {
  test('resumes where a dropped connection ended: nothing twice, nothing missing', async () => {
    const first = await follow();
    for (const run of ['1', '2']) service.announce(started(run));
    const frames = await first.frames(2);
    first.end();
    for (const run of ['3', '4']) service.announce(started(run));
    const second = await follow({ headers: { 'last-event-id': idOf(frames[1]) } });
    service.announce(started('5'));
    expect((await second.frames(3)).map((frame) => dataOf(frame).data.run_id)).toEqual(['3', '4', '5']);
  });

  test('of an event long gone sends all that is kept', async () => {
    const first = await follow();
    for (let each = 0; each < 80; each += 1) service.announce(started(String(each)));
    const [frame] = await first.frames(1);
    const second = await follow({ headers: { 'last-event-id': idOf(frame) } });
    const frames = await second.frames(50);
    expect(dataOf(frames[0]).data.run_id).toBe('30');
    expect(dataOf(frames[49]).data.run_id).toBe('79');
  });

  test('of another life of the service sends all that is kept of this one', async () => {
    service.announce(started('1'));
    const reader = await follow({ headers: { 'last-event-id': '0123456789ab-999' } });
    expect(dataOf((await reader.frames(1))[0]).data.run_id).toBe('1');
  });

  test.each(['', 'garbage', '12', '-1', 'x'.repeat(5000), 'abc-', 'zz zz-1'])(
    'that is none, %j, begins with what comes next',
    async (id) => {
      service.announce(started('before'));
      const reader = await follow({ headers: { 'last-event-id': id } });
      service.announce(started('after'));
      expect(dataOf((await reader.frames(1))[0]).data.run_id).toBe('after');
    },
  );
});

describe('readers', () => {
  test('beyond the most there may be are refused with 503, and let in when one goes', async () => {
    await start({ limits: { maxStreams: 2 } });
    const first = await follow();
    await follow();
    const refused = await scene.ask('/v1/events', { token: eventsToken });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '30']);
    expect(refused.json().error).toMatch(/too many/);
    first.end();
    while (scene.http.streams.count() > 1) await sleep(2);
    expect((await follow()).response.statusCode).toBe(200);
  });

  test('that go are forgotten', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => follow()));
    expect(scene.http.streams.count()).toBe(10);
    for (const reader of all) reader.end();
    while (scene.http.streams.count() > 0) await sleep(2);
  });

  test('that wait behind another reply of their connection are forgotten with it, and logged', async () => {
    const socket = connect(scene.port, '127.0.0.1');
    socket.write(`GET /v1/events?access_token=${eventsToken} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(5));
    while (scene.http.streams.count() < 5) await sleep(2);
    socket.destroy();
    await expect.poll(() => scene.http.streams.count()).toBe(0);
    await expect.poll(() => scene.lines.filter(({ message }) => message === 'Request')).toHaveLength(5);
  });

  test('one that never reads is disconnected, and the others hear everything', async () => {
    await start({ limits: { streamBufferBytes: 50_000 } });
    const lazy = await follow({ paused: true });
    const keen = await follow();
    const big = 'x'.repeat(20_000);
    let sent = 0;
    while (scene.http.streams.count() === 2) {
      expect(sent).toBeLessThan(2000);
      service.announce({ kind: 'scan_failed', runId: String((sent += 1)), purpose: 'check', error: big, atMs: 0 });
      await sleep(1);
    }
    const frames = await keen.frames(sent);
    expect(frames.map((frame) => dataOf(frame).data.run_id)).toEqual(
      Array.from({ length: sent }, (_, each) => String(each + 1)),
    );
    expect(scene.lines.some(({ message }) => message.includes('too slow'))).toBe(true);
    lazy.end();
  });

  test('are told nothing while the service stops: their streams end', async () => {
    await start({ limits: { graceMs: 3_600_000 } });
    const reader = await follow();
    await scene.stop();
    await reader.ended;
    expect(reader.text()).toBe('retry: 5000\n\n');
  });
});

const checkedWeb = {
  kind: 'container_checked',
  runId: 'run-1',
  container: 'web',
  image: 'nginx:1.27',
  status: 'held',
  reason: 'waits for approval',
  checked: {
    hold: 'approval',
    eligibleAtMs: 7000,
    retryAtMs: 8000,
    latestDigest: 'sha256:newest',
    candidateDigest: 'sha256:other',
    version: '1.27',
    latestVersion: '1.28',
    candidate: 'nginx:1.28',
    candidateKind: 'minor',
    change: 'minor',
  },
} as const satisfies ServiceEvent;

function pulled(container: string, bytes: number, totalBytes: number): ServiceEvent {
  return {
    kind: 'pull_progress',
    runId: 'run-1',
    container,
    progress: { layersDone: 0, layers: 1, bytes, totalBytes },
  };
}

function started(runId: string): ServiceEvent {
  return { kind: 'scan_started', runId, purpose: 'update', trigger: 'http', atMs: Date.now() };
}

function completed(counts: Partial<Record<'updated' | 'failed', number>>): ServiceEvent {
  const all = { scanned: 5, updated: 0, failed: 0, restarted: 0, skipped: 0, ...counts };
  return { kind: 'scan_completed', runId: 'run-1', purpose: 'update', ...all, session: undefined, atMs: Date.now() };
}

function outcome(kind: ContainerOutcome['outcome']): ContainerOutcome {
  const ids = { oldImageId: 'sha256:1', newImageId: 'sha256:2', oldDigest: '', newDigest: '' };
  return {
    name: 'web',
    image: 'nginx:1',
    outcome: kind,
    reason: kind === 'updated' ? '' : 'It was not healthy',
    ...ids,
  };
}

async function follow(options?: FollowOptions): Promise<EventReader> {
  const reader = await followEvents(scene.url, options);
  readers.push(reader);
  return reader;
}
