import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';

const hourMs = 3_600_000;

describe('when the service stops', () => {
  test('no new connection is taken, and a running request gets its reply', async () => {
    const service = createScriptedService();
    let end: () => void = () => undefined;
    service.script.checkEnds = new Promise<void>((resolve) => (end = resolve));
    const { ask, stop } = await startHttp(service);
    const running = ask('/v1/check', { method: 'POST' });
    while (service.asked.length === 0) await sleep(2);
    const stopped = stop();
    await sleep(20);
    await expect(ask('/livez')).rejects.toThrow(/ECONNREFUSED/);
    end();
    const reply = await running;
    expect([reply.status, reply.headers['connection']]).toEqual([200, 'close']);
    await stopped;
  });

  test('a running update is asked to stop at a safe point, and waited for', async () => {
    const service = createScriptedService();
    let end: () => void = () => undefined;
    service.script.updateEnds = new Promise<void>((resolve) => (end = resolve));
    const { ask, stop } = await startHttp(service);
    expect((await ask('/v1/update?async=true', { method: 'POST' })).status).toBe(202);
    let isStopped = false;
    const stopped = stop().then(() => (isStopped = true));
    await sleep(50);
    expect(service.aborted).toMatchObject([{ code: 'cancelled' }]);
    expect(isStopped).toBe(false);
    end();
    await stopped;
  });

  test('an update that waits for its turn is called off', async () => {
    const service = createScriptedService();
    let end: () => void = () => undefined;
    service.script.updateEnds = new Promise<void>((resolve) => (end = resolve));
    const { ask, stop } = await startHttp(service);
    const running = ask('/v1/update', { method: 'POST' });
    while (service.asked.length === 0) await sleep(2);
    const waiting = ask('/v1/update?container=web', { method: 'POST' });
    while (service.asked.length === 1) await sleep(2);
    const stopped = stop();
    expect((await waiting).status).toBe(503);
    end();
    expect((await running).status).toBe(200);
    await stopped;
  });

  test('who takes longer than the grace is cut off', async () => {
    const service = createScriptedService();
    service.script.checkEnds = new Promise(() => undefined);
    const { ask, stop } = await startHttp(service, { limits: { graceMs: 100 } });
    const running = ask('/v1/check', { method: 'POST' });
    const refused = expect(running).rejects.toThrow();
    while (service.asked.length === 0) await sleep(2);
    const beganMs = performance.now();
    await stop();
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(95);
    await refused;
  });

  test('idle connections do not keep it', async () => {
    const { url, port, stop } = await startHttp(createScriptedService(), { limits: { graceMs: hourMs } });
    const agent = new Agent({ keepAlive: true });
    await new Promise<void>((resolve, reject) => {
      get(`${url}/livez`, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject);
    });
    const silent = connect(port, '127.0.0.1');
    await new Promise((resolve) => silent.on('connect', resolve));
    await stop();
    agent.destroy();
    silent.destroy();
  });

  describe('a request whose body is still arriving', () => {
    const head = 'POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api-token-for-tests\r\n';

    /** Sends the first bytes of a request, and resolves when the server has read its head. */
    async function begin({ http, port }: HttpScene, text: string) {
      const arrived = once(http.server, 'request');
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      const chunks: string[] = [];
      socket.on('data', (chunk) => chunks.push(chunk.toString()));
      socket.on('error', () => undefined);
      const closed = once(socket, 'close').then(() => chunks.join(''));
      await arrived;
      return { socket, closed };
    }

    test.each([
      ['of a known length', 'Content-Length: 4\r\n\r\nab', 'cd'],
      ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n', '2\r\ncd\r\n0\r\n\r\n'],
    ])('gets its reply: %s', async (_, first, rest) => {
      const scene = await startHttp(createScriptedService());
      const { socket, closed } = await begin(scene, head + first);
      const stopped = scene.stop();
      socket.write(rest);
      const reply = await closed;
      expect(reply).toMatch(/^HTTP\/1\.1 200 /);
      expect(reply).toMatch(/\r\nConnection: close\r\n/i);
      await stopped;
    });

    test('is cut off after the grace where the rest does not come', async () => {
      const scene = await startHttp(createScriptedService(), { limits: { graceMs: 50 } });
      const { closed } = await begin(scene, `${head}Content-Length: 4\r\n\r\nab`);
      await scene.stop();
      expect(await closed).toBe('');
    });
  });

  test('twice is once', async () => {
    const { stop } = await startHttp(createScriptedService());
    await Promise.all([stop(), stop()]);
    await stop();
  });
});
