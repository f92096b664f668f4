import { afterEach, describe, expect, test } from 'vitest';
import { followEvents } from '../../support/http/event-reader.ts';
import { eventsToken, type HttpScene, startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';
import { expectErrorBody } from '../described/described.ts';

let scene: HttpScene;
afterEach(() => scene.stop());

async function start(corsOrigins: readonly string[]): Promise<HttpScene> {
  scene = await startHttp(createScriptedService(), { settings: { corsOrigins } });
  return scene;
}

const preflight = (origin: string, path = '/v1/update', method = 'POST') => {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization',
  };
  return scene.ask(path, { method: 'OPTIONS', token: null, headers });
};

describe('CORS', () => {
  test('is off by default', async () => {
    await start([]);
    const reply = await scene.ask('/v1/containers', { headers: { origin: 'https://a.test' } });
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect((await preflight('https://a.test')).status).toBe(405);
  });

  test('echoes an origin of the list, with credentials', async () => {
    await start(['https://a.test', 'https://b.test']);
    for (const origin of ['https://a.test', 'https://b.test']) {
      const { status, headers } = await scene.ask('/v1/containers', { headers: { origin } });
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        vary: 'Origin',
      });
      expect(headers['access-control-expose-headers']).toContain('X-Request-Id');
    }
  });

  test('tells a browser nothing about another origin, and serves it all the same', async () => {
    await start(['https://a.test']);
    const { status, headers } = await scene.ask('/v1/containers', { headers: { origin: 'https://evil.test' } });
    expect(status).toBe(200);
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(headers['vary']).toBe('Origin');
  });

  test('with * allows all, without credentials', async () => {
    await start(['*']);
    const { headers } = await scene.ask('/v1/containers', { headers: { origin: 'https://any.test' } });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-allow-credentials']).toBeUndefined();
  });

  test.each([
    ['https://a.example.com', true],
    ['https://a.b.example.com', true],
    ['https://example.com', false],
    ['http://a.example.com', false],
    ['https://example.com.evil.test', false],
    ['https://evil-example.com', false],
    ['null', false],
  ])('with https://*.example.com: %s allowed: %s', async (origin, allowed) => {
    await start(['https://*.example.com']);
    const { headers } = await scene.ask('/livez', { headers: { origin } });
    expect(headers['access-control-allow-origin']).toBe(allowed ? origin : undefined);
  });

  test.each(['/v1/update', '/v1/containers', '/nope', '/livez'])(
    'answers a preflight for %s with 204',
    async (path) => {
      await start(['https://a.test']);
      const reply = await preflight('https://a.test', path);
      expect(reply.status).toBe(204);
      expect(reply.text).toBe('');
      expect(reply.headers).toMatchObject({
        'access-control-allow-origin': 'https://a.test',
        'access-control-allow-credentials': 'true',
        'access-control-max-age': '3600',
        'x-frame-options': 'DENY',
      });
      expect(reply.headers['access-control-allow-methods']).toContain('POST');
      expect(reply.headers['access-control-allow-headers']).toContain('Authorization');
    },
  );

  test('lets a page of an allowed origin end a decision', async () => {
    await start(['https://a.test']);
    const { status, headers } = await preflight('https://a.test', '/v1/decisions/1', 'DELETE');
    expect(status).toBe(204);
    expect(headers['access-control-allow-methods']?.split(', ')).toContain('DELETE');
    expect(headers['access-control-allow-headers']?.split(', ')).toContain('Authorization');
    const deleted = await scene.ask('/v1/decisions/1', { method: 'DELETE', headers: { origin: 'https://a.test' } });
    expect([deleted.status, deleted.headers['access-control-allow-origin']]).toEqual([404, 'https://a.test']);
  });

  test('answers a preflight from another origin without leave', async () => {
    await start(['https://a.test']);
    const { status, headers } = await preflight('https://evil.test');
    expect(status).toBe(204);
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(headers['access-control-allow-methods']).toBeUndefined();
  });

  test('an OPTIONS that is no preflight is an unsupported method', async () => {
    await start(['https://a.test']);
    expect((await scene.ask('/livez', { method: 'OPTIONS', headers: { origin: 'https://a.test' } })).status).toBe(405);
  });

  test('errors can be read by an allowed page too', async () => {
    await start(['https://a.test']);
    for (const [path, status] of [
      ['/nope', 404],
      ['/v1/containers', 401],
    ] as const) {
      const reply = await scene.ask(path, { token: null, headers: { origin: 'https://a.test' } });
      expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([status, 'https://a.test']);
    }
  });
});

describe('the origin of a reader of events', () => {
  const ask = (headers: Readonly<Record<string, string>>, token = eventsToken) =>
    scene.ask('/v1/events', { method: 'HEAD', token, headers });

  test.each([
    ['none', [], {}, 200],
    ['the host itself', [], { origin: 'http://{host}' }, 200],
    ['the host itself, behind TLS', [], { origin: 'https://{host}' }, 200],
    ['another', [], { origin: 'https://a.test' }, 403],
    ['another port of the host', [], { origin: 'http://127.0.0.1:1' }, 403],
    ['null', [], { origin: 'null' }, 403],
    ['garbage', [], { origin: 'x y' }, 403],
    ['one of the list', ['https://a.test'], { origin: 'https://a.test' }, 200],
    ['one not of the list', ['https://a.test'], { origin: 'https://b.test' }, 403],
    ['a subdomain', ['https://*.a.test'], { origin: 'https://x.a.test' }, 200],
    ['any, with *', ['*'], { origin: 'https://b.test' }, 200],
    ['null, with *', ['*'], { origin: 'null' }, 200],
  ] as const)('%s, with the origins %j', async (_, origins, headers, expected) => {
    await start(origins);
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('{host}', `127.0.0.1:${scene.port}`)]),
    );
    expect((await ask(sent)).status).toBe(expected);
  });

  test('stands in the headers of the stream, so that the page may read it', async () => {
    await start(['https://a.test']);
    const reader = await followEvents(scene.url, { headers: { origin: 'https://a.test' } });
    expect(reader.response.headers).toMatchObject({
      'access-control-allow-origin': 'https://a.test',
      'access-control-allow-credentials': 'true',
      vary: 'Origin',
    });
    reader.end();
  });

  test('is looked at after the token', async () => {
    await start([]);
    expect((await ask({ origin: 'https://evil.test' }, 'wrong')).status).toBe(401);
    const reply = await scene.ask('/v1/events', { token: eventsToken, headers: { origin: 'https://evil.test' } });
    expect(reply.status).toBe(403);
    expect(reply.json().error).toBe('origin not allowed');
    expectErrorBody(reply);
  });
});
