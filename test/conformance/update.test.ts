import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/domain/text/errors.ts';
import type { ContainerOutcome, OutcomeKind } from '../../src/domain/run/session.ts';
import { digestOf } from '../support/scene/builders.ts';
import { type DescribedScene, expectErrorBody, startDescribed } from './described/described.ts';

let scene: DescribedScene;
beforeEach(async () => {
  scene = await startDescribed();
});
afterEach(() => scene.stop());

const update = (query = '', options = {}) => scene.ask(`/v1/update${query}`, { method: 'POST', ...options });

describe('POST /v1/update', () => {
  test('tells what it did: counters, time, and each container', async () => {
    scene.service.script.outcomes = [
      outcome('web', 'updated'),
      outcome('api', 'fresh'),
      outcome('db', 'failed', 'It could not be pulled'),
      outcome('cache', 'rolled_back', 'It was not healthy'),
      outcome('sidecar', 'restarted'),
      outcome('old', 'skipped', 'It is monitored only'),
      outcome('young', 'deferred', 'It is too young'),
      outcome('odd', 'unknown', 'The registry does not answer'),
    ];
    const reply = await update();
    expect(reply.status).toBe(200);
    const { summary, timing, run_id, containers } = reply.json();
    expect(summary).toEqual({ scanned: 8, updated: 1, failed: 2, restarted: 1, skipped: 3 });
    expect(timing).toEqual({ duration_ms: 1250, duration: '1.25s' });
    expect(run_id).toBe('run-1');
    expect(containers.map((each: { outcome: string }) => each.outcome)).toEqual([
      'updated',
      'fresh',
      'failed',
      'rolled_back',
      'restarted',
      'skipped',
      'deferred',
      'unknown',
    ]);
    expect(containers[0]).toEqual({
      name: 'web',
      image: 'web:1',
      outcome: 'updated',
      reason: '',
      old_image_id: digestOf('old web'),
      new_image_id: digestOf('new web'),
      old_digest: digestOf('old digest web'),
      new_digest: digestOf('new digest web'),
      downtime_ms: 321,
    });
    expect(containers[2].reason).toBe('It could not be pulled');
  });

  test('a container that failed is no HTTP error', async () => {
    scene.service.script.outcomes = [outcome('db', 'failed', 'x')];
    expect((await update()).status).toBe(200);
  });
});

describe('which containers', () => {
  test.each([
    ['', [], []],
    ['?image=nginx', ['nginx'], []],
    ['?image=nginx:1.27', ['nginx:1.27'], []],
    ['?image=nginx,redis', ['nginx', 'redis'], []],
    ['?image=nginx&image=redis', ['nginx', 'redis'], []],
    ['?image=nginx,redis&image=ghcr.io/a/b:1', ['nginx', 'redis', 'ghcr.io/a/b:1'], []],
    ['?image=%20nginx%20,,%20', ['nginx'], []],
    ['?container=web', [], ['web']],
    ['?container=web,api-.*', [], ['web', 'api-.*']],
    ['?container=web&container=db', [], ['web', 'db']],
    ['?container=/web', [], ['/web']],
    ['?container=%5Bbroken', [], ['[broken']],
    ['?image=nginx&container=web', ['nginx'], ['web']],
    ['?image=&container=', [], []],
    ['?image=,,', [], []],
    ['?unknown=x', [], []],
  ])('%s', async (query, images, containers) => {
    expect((await update(query)).status).toBe(200);
    expect(scene.service.asked).toEqual([{ kind: 'update', images, containers }]);
    await scene.ask(`/v1/check${query}`, { method: 'POST' });
    expect(scene.service.asked[1]).toEqual({ kind: 'check', images, containers });
  });

  test.each([
    ['?images=nginx', 'did you mean "image"?'],
    ['?containers=web', 'did you mean "container"?'],
    ['?images=', 'did you mean "image"?'],
    ['?image=nginx&containers=web', 'did you mean "container"?'],
    ['?image[]=nginx', 'did you mean "image"?'],
    ['?container%5B%5D=web&container%5B%5D=db', 'did you mean "container"?'],
    ['?name=web', 'did you mean "container"?'],
    ['?Image=nginx', 'did you mean "image"?'],
    ['?hostname=pmm-server&newImageName=percona/pmm-server:3', 'did you mean "container"?'],
    ['?conatiner=web', 'did you mean "container"?'],
    ['?cont=web', 'did you mean "container"?'],
    ['?service[]=web', 'did you mean "container"?'],
    ['?time-out=5s', 'did you mean "timeout"?'],
    ['?serviceName=web', 'did you mean "container"?'],
    ['?stack-name=shop', 'did you mean "container"?'],
    ['?compose_project=shop', 'did you mean "container"?'],
    ['?ctr=web', 'did you mean "container"?'],
    ['?c=web', 'did you mean "container"?'],
    ['?query=web', 'did you mean "container"?'],
    ['?match=web.*', 'did you mean "container"?'],
    ['?limit=1', 'did you mean "container"?'],
    ['?tagName=1.27', 'did you mean "image"?'],
    ['?registry=ghcr.io', 'did you mean "image"?'],
    ['?digest=sha256:0', 'did you mean "image"?'],
    ['?machine_id=nas', 'did you mean "engine"?'],
    ['?dockerHost=nas', 'did you mean "container"?'],
  ])('%s is refused, because otherwise all would be updated', async (query, hint) => {
    for (const path of ['/v1/update', '/v1/check']) {
      const reply = await scene.ask(`${path}${query}`, { method: 'POST' });
      expect(reply.status).toBe(400);
      expect(reply.json().error).toContain(hint);
      expectErrorBody(reply);
    }
    expect(scene.service.asked).toEqual([]);
  });
});

describe('a request that is not understood updates nothing', () => {
  test.each(['foo=bar', 'verbose=false', 'request_id=7', 'force=true', 'pull=1', 'ts=0', '_=17', 'source=cron'])(
    '?%s narrows nothing, and is named in a warning',
    async (query) => {
      const reply = await update(`?${query}`);
      expect([reply.status, reply.headers['x-upkeep-warning']]).toEqual([200, expect.stringContaining('ignored')]);
    },
  );

  test.each([
    ...['apply=false', 'execute=0', 'confirm=no', 'pull=off', 'restart=False', 'dry=1', 'dr=1', 'diff', 'fake=true'],
    ...['validate', 'skip_update=1', 'dontUpdate', 'mode=dry-run', 'action=check', 'preview_only=1', 'safe=1'],
  ])('?%s is refused, because less than an update was meant', async (query) => {
    const reply = await update(`?${query}`);
    expect([reply.status, reply.json().error]).toEqual([
      400,
      expect.stringMatching(/did you mean "(dry_run|container)"/),
    ]);
    expect(scene.service.asked).toEqual([]);
  });

  test.each([
    ...['timeout=5m;dry_run=true', 'async=true;dry_run', 'async=true?dry_run=1', 'timeout=5m%26dry_run=true'],
    ...[
      'async=false;container=web',
      'foo=1;name=web',
      'utm=x?dryRun=true',
      '_=17;apply=false',
      'timeout=1m;engine=nas',
    ],
  ])('?%s is refused, because a wrong separator hides a parameter', async (query) => {
    const reply = await update(`?${query}`);
    expect([reply.status, reply.json().error]).toEqual([400, expect.stringContaining('separate parameters with &')]);
    expect(scene.service.asked).toEqual([]);
  });

  test.each(['container=web(?:-1)?', 'container=w.b%5B;%26%5D', 'foo=a;b', 'source=x?y=1;z=2', 'timeout=5m;'])(
    '?%s hides no parameter',
    async (query) => {
      expect((await update(`?${query}`)).status).toBe(200);
    },
  );

  test.each(['preview=1', 'simulate', 'what-if=true', 'noop=1', 'monitor_only=true', 'dryRun=true', 'dry-run=true'])(
    '?%s is refused, because a rehearsal was meant',
    async (query) => {
      const reply = await update(`?${query}`);
      expect([reply.status, reply.json().error]).toEqual([400, expect.stringContaining('did you mean "dry_run"?')]);
      expect(scene.service.asked).toEqual([]);
    },
  );

  test.each(['dry_run=1', 'dry_run=yes', 'dry_run', 'dry_run=', 'dry_run=T', 'dry_run=TRUE', 'dry_run=Yes&dry_run=1'])(
    '?%s is a rehearsal',
    async (query) => {
      expect((await update(`?${query}`)).json().dry_run).toBe(true);
      expect(scene.service.asked.map(({ kind }) => kind)).not.toContain('update');
    },
  );

  test.each(['dry_run=0', 'dry_run=no', 'dry_run=False', 'dry_run=f'])('?%s is an update', async (query) => {
    expect((await update(`?${query}`)).status).toBe(200);
    expect(scene.service.asked.map(({ kind }) => kind)).toEqual(['update']);
  });

  test.each(['dry_run', 'now', 'approved', 'retry_failed', 'ignore_waves'])(
    '%s with a value that is no boolean, or with two, is refused',
    async (name) => {
      for (const value of ['ture', '2', 'on', '-1', 'null', 'true,false', `true&${name}=false`, `x&${name}=true`]) {
        const reply = await update(`?container=web&${name}=${value}`);
        expect([reply.status, reply.json().error]).toEqual([400, expect.stringContaining(`"${name}"`)]);
      }
      expect(scene.service.asked).toEqual([]);
    },
  );

  test('a parameter that narrows nothing is ignored, and told in a header and once in the log', async () => {
    for (let time = 0; time < 3; time += 1) {
      const reply = await update('?utm_source=homepage&%CF%80=1');
      expect(reply.status).toBe(200);
      expect(reply.headers['x-upkeep-warning']).toBe('unknown query parameters ignored: "utm_source", "?"');
    }
    expect(scene.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect((await update('?container=web')).headers['x-upkeep-warning']).toBeUndefined();
  });

  test.each([false, true])('a body is not used, and that is told (chunked: %s)', async (chunked) => {
    const body = 'container=api&dry_run=true';
    const reply = await scene.ask('/v1/update', { method: 'POST', body, chunked });
    expect(reply.status).toBe(200);
    expect(reply.headers['x-upkeep-warning']).toContain('the request body is not used');
    expect(scene.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    const empty = await scene.ask('/v1/update', { method: 'POST', body: '', chunked });
    expect(empty.headers['x-upkeep-warning']).toBeUndefined();
  });

  test('a client of the first Watchtower is told once in the log how to go on', async () => {
    for (let time = 0; time < 3; time += 1)
      for (const method of ['GET', 'HEAD', 'PUT']) expect((await scene.ask('/v1/update', { method })).status).toBe(405);
    const warnings = scene.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('GET /v1/update, which is refused: use POST, or start the service with'),
      'A client sends HEAD /v1/update, which is refused: use POST',
      'A client sends PUT /v1/update, which is refused: use POST',
    ]);
  });
});

describe('one update at a time', () => {
  test('a full update while another runs is refused at once', async () => {
    const end = hold();
    const first = update('?container=a');
    await asked(1);
    const reply = await update();
    expect(reply.status).toBe(429);
    expect(reply.headers['retry-after']).toBe('30');
    expect(reply.json().error).toBe('another update is already running');
    expectErrorBody(reply);
    expect((await update('?async=true')).status).toBe(429);
    end();
    expect((await first).status).toBe(200);
    expect((await update()).status).toBe(200);
  });

  test('a targeted one waits for its turn, then proceeds', async () => {
    const end = hold();
    const first = update();
    await asked(1);
    const [byName, byImage] = [update('?container=web'), update('?image=nginx')];
    await asked(3);
    await sleep(50);
    end();
    const replies = await Promise.all([first, byName, byImage]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(replies.map((reply) => reply.json().run_id)).toEqual(['run-1', 'run-2', 'run-3']);
  });

  test('a targeted one that finds the queue full is refused with 503, never with 429', async () => {
    scene.service.script.failure = new ServiceError('busy', 'Cannot update: 1000 updates are waiting already');
    for (const query of ['?container=web', '?image=nginx']) {
      const reply = await update(query);
      expect([reply.status, reply.headers['retry-after']]).toEqual([503, '30']);
      expect(reply.json().error).toBe('too many updates are waiting already');
      expectErrorBody(reply);
    }
    expect((await update()).status).toBe(429);
  });

  test('who hangs up while waiting leaves the queue, with status 503', async () => {
    const end = hold();
    const first = update();
    await asked(1);
    const controller = new AbortController();
    const second = update('?container=web', { signal: controller.signal, headers: { 'x-request-id': 'gone' } });
    await asked(2);
    controller.abort();
    await expect(second).rejects.toThrow();
    await answered('gone');
    const third = update('?container=db');
    await asked(3);
    end();
    expect((await first).json().run_id).toBe('run-1');
    expect((await third).json().run_id).toBe('run-2');
    expect(scene.lines.find(({ fields }) => fields['request_id'] === 'gone')?.fields['status']).toBe(503);
  });

  test('who hangs up once it has begun does not stop it', async () => {
    const end = hold();
    const controller = new AbortController();
    const first = update('', { signal: controller.signal });
    await asked(1);
    await sleep(30);
    controller.abort();
    await expect(first).rejects.toThrow();
    await sleep(50);
    expect((await update()).status).toBe(429);
    end();
    await sleep(20);
    expect(scene.service.aborted).toEqual([]);
    expect((await update()).status).toBe(200);
  });

  test('a check waits for no update', async () => {
    const end = hold();
    const first = update();
    await asked(1);
    expect((await scene.ask('/v1/check', { method: 'POST' })).status).toBe(200);
    end();
    await first;
  });
});

describe('async', () => {
  test.each(['true', 'TRUE', 'True'])('%s answers 202 with the run id, and goes on', async (value) => {
    const end = hold();
    const reply = await update(`?async=${value}`);
    expect(reply.status).toBe(202);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(reply.json()).toEqual({
      status: 'accepted',
      run_id: 'run-1',
      timestamp: expect.any(String),
      api_version: 'v1',
    });
    expect((await update()).status).toBe(429);
    end();
    await sleep(20);
    expect((await update()).status).toBe(200);
  });

  test.each(['', '1', 'yes', 'false', 't', 'true,true'])('%j is not true', async (value) => {
    expect((await update(`?async=${value}`)).status).toBe(200);
  });

  test('a targeted one waits for its turn before it answers', async () => {
    const end = hold();
    const first = update();
    await asked(1);
    let answered = false;
    const second = update('?container=web&async=true').then((reply) => {
      answered = true;
      return reply;
    });
    await asked(2);
    await sleep(50);
    expect(answered).toBe(false);
    end();
    await first;
    expect((await second).status).toBe(202);
    expect((await second).json().run_id).toBe('run-2');
  });

  test('one that fails later still was accepted', async () => {
    const end = hold();
    expect((await update('?async=true')).status).toBe(202);
    scene.service.script.failure = new Error('later');
    end();
    await sleep(20);
    scene.service.script.failure = undefined;
    expect((await update()).status).toBe(200);
  });

  test('one that fails before it begins was not', async () => {
    const end = hold();
    const first = update();
    await asked(1);
    const controller = new AbortController();
    const second = update('?container=web&async=true', {
      signal: controller.signal,
      headers: { 'x-request-id': 'gone too' },
    });
    await asked(2);
    controller.abort();
    await expect(second).rejects.toThrow();
    await answered('gone too');
    end();
    await first;
    expect((await update()).json().run_id).toBe('run-2');
  });

  test('its timeout bounds the run in the background', async () => {
    const end = hold();
    expect((await update('?async=true&timeout=60ms')).status).toBe(202);
    expect(scene.service.aborted).toEqual([]);
    await sleep(120);
    expect(scene.service.aborted).toHaveLength(1);
    end();
  });
});

describe('timeout', () => {
  test('answers 408 at the limit, and asks the update to stop where nothing is half done', async () => {
    const end = hold();
    const beganMs = performance.now();
    const reply = await update('?timeout=100ms');
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(95);
    expect(reply.status).toBe(408);
    expect(reply.json().error).toBe('the update did not end within 100ms');
    expectErrorBody(reply);
    expect(scene.service.aborted).toMatchObject([{ code: 'timeout' }]);
    // The lock is free when the update is over, not when its reply is.
    expect((await update()).status).toBe(429);
    end();
    await sleep(20);
    expect((await update()).status).toBe(200);
  });

  test('covers the wait for the lock', async () => {
    const end = hold();
    const first = update();
    await asked(1);
    for (const query of ['?container=web&timeout=80ms', '?container=web&async=true&timeout=80ms']) {
      const reply = await update(query);
      expect(reply.status).toBe(408);
      expectErrorBody(reply);
    }
    end();
    expect((await first).status).toBe(200);
    expect((await update()).json().run_id).toBe('run-2');
  });

  test('of the option caps that of the request', async () => {
    const { ask, stop, service } = await startDescribed({ settings: { updateTimeoutMs: 100 } });
    let end: () => void = () => undefined;
    service.script.updateEnds = new Promise<void>((resolve) => (end = resolve));
    for (const query of [
      '?container=a',
      '?container=a&timeout=1h',
      '?container=a&timeout=nonsense',
      '?container=a&timeout=0s',
      '?container=a&timeout=-5s',
      '?container=a&timeout=',
      '?container=a&timeout=+20ms',
      '?container=a&timeout=20ms%20',
      '?container=a&timeout=%0920ms',
      '?container=a&timeout=1+h',
    ]) {
      const reply = await ask(`/v1/update${query}`, { method: 'POST' });
      expect([query, reply.status]).toEqual([query, 408]);
      expect(reply.json().error, query).toContain('within 100ms');
    }
    end();
    await stop();
  });

  test.each(['nonsense', '0', '0s', '-1s', '', '1h', '10m', '+20ms', '20ms%20'])('%j is no fault', async (timeout) => {
    expect((await update(`?timeout=${timeout}`)).status).toBe(200);
  });
});

describe('GET /v1/update', () => {
  test('is refused, with the option that has it accepted, and so is every other method, with the right one', async () => {
    const messageFor = async (method: string) => (await scene.ask('/v1/update', { method, token: null })).json().error;
    expect(await messageFor('GET')).toContain('--http-api-watchtower-compat');
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      expect(await messageFor(method)).toBe('method not allowed: use POST');
    expect((await scene.ask('/v1/update')).status).toBe(405);
    expect(scene.service.asked).toEqual([]);
  });

  test('is taken for POST where the switch is on', async () => {
    const { ask, stop, service } = await startDescribed({ settings: { watchtowerCompat: true } });
    expect((await ask('/v1/update?image=nginx')).status).toBe(200);
    expect((await ask('/v1/update', { method: 'POST' })).status).toBe(200);
    expect((await ask('/v1/update?async=true')).status).toBe(202);
    expect(service.asked.map(({ images }) => images)).toEqual([['nginx'], [], []]);
    const refused = await ask('/v1/update', { method: 'PUT' });
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'POST, GET']);
    expect((await ask('/v1/update', { method: 'HEAD' })).status).toBe(405);
    expect((await ask('/v1/update', { token: 'wrong' })).status).toBe(401);
    expect((await ask('/v1/check')).status).toBe(405);
    await stop();
  });
});

/** Keeps updates from ending until it is called. */
function hold(): () => void {
  let end: () => void = () => undefined;
  scene.service.script.updateEnds = new Promise<void>((resolve) => (end = resolve));
  return () => {
    end();
    scene.service.script.updateEnds = undefined;
  };
}

async function asked(count: number): Promise<void> {
  while (scene.service.asked.length < count) await sleep(2);
}

async function answered(requestId: string): Promise<void> {
  while (!scene.lines.some(({ fields }) => fields['request_id'] === requestId)) await sleep(2);
}

function outcome(name: string, kind: OutcomeKind, reason = ''): ContainerOutcome {
  return {
    name,
    image: `${name}:1`,
    outcome: kind,
    reason,
    oldImageId: digestOf(`old ${name}`),
    newImageId: digestOf(`new ${name}`),
    oldDigest: digestOf(`old digest ${name}`),
    newDigest: digestOf(`new digest ${name}`),
    ...(kind === 'updated' && { downtimeMs: 321.4 }),
  };
}
