import { describe, expect, test, vi } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { docker28, refuse, type Answer } from '../../../../test/support/engine/scripted-engine.ts';

const hang: Answer = () => undefined;
const inspected = { Id: 'id' };

describe('the version of the API', () => {
  test.each([
    ['1.51', '1.24', '1.51'],
    ['1.99', '1.24', '1.51'],
    ['1.60', '1.51', '1.51'],
    ['1.45', '1.24', '1.45'],
    ['1.41', '1.12', '1.41'],
    ['1.41', undefined, '1.41'],
  ])('of an engine with %s (oldest %s) is %s', async (ApiVersion, MinAPIVersion, spoken) => {
    const { engine, server } = await connectedEngine({
      version: { ...docker28, ApiVersion, MinAPIVersion },
      script: { '*': [] },
      apiVersion: () => ApiVersion,
    });
    await engine.listContainers();
    await engine.listContainers();
    expect(server.requests.map(({ version }) => version)).toEqual([spoken, spoken]);
    expect(server.versionRequests()).toBe(1);
  });

  test.each([
    ['1.40', '1.12', 'speaks API 1.40, and 1.41 is the oldest supported version'],
    ['1.60', '1.52', 'speaks API 1.52 and newer, and 1.51 is the newest supported version'],
  ])('is none with an engine of %s (oldest %s)', async (ApiVersion, MinAPIVersion, why) => {
    const { engine } = await connectedEngine({ version: { ...docker28, ApiVersion, MinAPIVersion } });
    await expect(engine.listContainers()).rejects.toMatchObject({
      code: 'engine-refused',
      message: expect.stringContaining(why),
      remedy: expect.any(String),
    });
    expect(await engine.startContainer('id')).toMatchObject({ kind: 'refused', status: 503 });
  });

  test('can be pinned', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': [] } }, { apiVersion: '1.43' });
    await engine.listContainers();
    expect(server.requests[0]?.version).toBe('1.43');
  });

  test.each([
    ['1.40', 'it is not one of 1.41 to 1.51'],
    ['1.52', 'it is not one of 1.41 to 1.51'],
    ['1.24', 'it is not one of 1.41 to 1.51'],
    ['latest', 'it is not one of 1.41 to 1.51'],
    ['1.48', 'the engine speaks 1.44 to 1.47'],
    ['1.43', 'the engine speaks 1.44 to 1.47'],
  ])('that is pinned to "%s" is negotiated where that cannot be, with one warning', async (apiVersion, why) => {
    const warn = vi.fn();
    const version = { ...docker28, ApiVersion: '1.47', MinAPIVersion: '1.44' };
    const { engine, server } = await connectedEngine(
      { version, script: { '*': [] }, apiVersion: () => '1.47' },
      { apiVersion, log: { warn } },
    );
    await engine.listContainers();
    server.script({ '*': (_, response) => void response.destroy() });
    await engine.startContainer('id');
    server.script({ '*': [] });
    await engine.listContainers();
    expect(server.requests.map((request) => request.version)).toEqual(['1.47', '1.47', '1.47']);
    expect(warn.mock.calls).toEqual([[`API version "${apiVersion}" cannot be used, so 1.47 is: ${why}`]]);
  });

  test('that is pinned is given up, with one warning, when the engine refuses it against its own word', async () => {
    const warn = vi.fn();
    const start: Answer = (request, response) => {
      if (request.version === '1.51') response.writeHead(204).end();
      else refuse(response, 400, 'client version 1.43 is too old. Minimum supported API version is 1.44');
    };
    const { engine, server } = await connectedEngine({ script: { '*': start } }, { apiVersion: '1.43', log: { warn } });
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(server.requests.map(({ version }) => version)).toEqual(['1.43', '1.51', '1.51']);
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining('"1.43" cannot be used: client version 1.43 is too old')],
    ]);
  });

  test('is asked for once by any number of callers, and again after a failure', async () => {
    let failing = true;
    const version: Answer = (_, response) =>
      failing ? refuse(response, 500, 'not yet') : void response.end(JSON.stringify(docker28));
    const { engine, server } = await connectedEngine({ version, script: { '*': [] } });
    const all = await Promise.allSettled([1, 2, 3].map(() => engine.listContainers()));
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(server.versionRequests()).toBe(1);
    failing = false;
    await Promise.all([1, 2, 3].map(() => engine.listContainers()));
    expect(server.versionRequests()).toBe(2);
  });

  test('is negotiated anew when the engine turns out to be newer', async () => {
    let speaks = '1.41';
    const version: Answer = (_, response) => void response.end(JSON.stringify({ ...docker28, ApiVersion: speaks }));
    const { engine, server } = await connectedEngine({ version, script: { '*': [] }, apiVersion: () => speaks });
    await engine.listContainers();
    speaks = '1.50';
    await engine.listContainers();
    await engine.listContainers();
    expect(server.requests.map((request) => request.version)).toEqual(['1.41', '1.41', '1.50']);
  });

  test('is negotiated anew when the engine turns out to be older: the call is sent again, because it had no effect', async () => {
    let speaks = '1.51';
    const version: Answer = (_, response) => void response.end(JSON.stringify({ ...docker28, ApiVersion: speaks }));
    const start: Answer = (request, response) => {
      if (request.version === speaks) response.writeHead(204).end();
      else
        refuse(
          response,
          400,
          `client version ${request.version} is too new. Maximum supported API version is ${speaks}`,
        );
    };
    const { engine, server } = await connectedEngine({ version, script: { '*': start }, apiVersion: () => '' });
    await engine.startContainer('id');
    speaks = '1.45';
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(server.requests.map((request) => request.version)).toEqual(['1.51', '1.51', '1.45']);
  });

  test('is not negotiated for ever with an engine that contradicts itself', async () => {
    const never: Answer = (_, response) => refuse(response, 400, 'client version 1.51 is too old. Minimum is 1.52');
    const { engine, server } = await connectedEngine({ script: { '*': never } });
    expect(await engine.startContainer('id')).toMatchObject({ kind: 'refused', status: 400 });
    expect(server.requests).toHaveLength(2);
  });

  test('is negotiated anew after the engine was away', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': (_, response) => void response.destroy() } });
    await engine.startContainer('id');
    server.script({ '*': [] });
    await engine.listContainers();
    expect(server.versionRequests()).toBe(2);
  });
});

describe('an answer', () => {
  test('that is larger than 8 MB is not read', async () => {
    const endless: Answer = (_, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(1_048_576, 0x20), () => setImmediate(more));
      };
      more();
    };
    const { engine } = await connectedEngine({ script: { '*': endless } });
    await expect(engine.inspectContainer('id')).rejects.toMatchObject({
      code: 'engine-refused',
      message: expect.stringContaining('larger than 8 MB'),
    });
  });

  test('that is no JSON is an error', async () => {
    const { engine } = await connectedEngine({ script: { '*': (_, response) => void response.end('<html>') } });
    await expect(engine.listImages()).rejects.toMatchObject({ code: 'engine-refused' });
  });

  test('that does not come in time is a timeout', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': hang } }, { deadlines: { readMs: 30 } });
    await expect(engine.inspectContainer('id')).rejects.toMatchObject({ code: 'timeout' });
    server.script({ '*': (_, response) => void response.writeHead(200).write('{') });
    await expect(engine.inspectContainer('id')).rejects.toMatchObject({ code: 'timeout' });
  });
});

describe('a read', () => {
  test('ends with the reason of the signal, whenever that aborts', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': hang }, version: hang });
    const aborts = [0, 1].map(() => new AbortController());
    const [negotiating, waiting] = aborts;
    await expect(engine.listContainers({}, AbortSignal.abort('before'))).rejects.toBe('before');
    const first = engine.listContainers({}, negotiating?.signal);
    negotiating?.abort('negotiating');
    await expect(first).rejects.toBe('negotiating');

    const other = await connectedEngine({ script: { '*': hang } });
    const second = other.engine.listContainers({}, waiting?.signal);
    await expect.poll(() => other.server.requests.length).toBe(1);
    waiting?.abort('waiting');
    await expect(second).rejects.toBe('waiting');
    expect(server.requests).toHaveLength(0);
  });

  test('ends as well while it waits for its turn', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': hang } }, { maxSockets: 1 });
    const first = engine.inspectContainer('first').catch(() => 'ended');
    await expect.poll(() => server.requests.length).toBe(1);
    const abort = new AbortController();
    const second = engine.inspectContainer('second', abort.signal);
    setTimeout(() => abort.abort('enough'), 10);
    await expect(second).rejects.toBe('enough');
    await engine.close();
    expect(await first).toBe('ended');
  });

  test('leaves no listener on a signal that outlives it', async () => {
    const { engine } = await connectedEngine({ script: { '*': inspected } });
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    for (let n = 0; n < 3; n++) await engine.inspectContainer('id', signal);
    await expect.poll(() => removed.mock.calls.length).toBeGreaterThan(0);
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
  });

  test('uses a connection again', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': inspected } });
    for (let n = 0; n < 5; n++) await engine.inspectContainer('id');
    expect(server.connections()).toBe(2);
  });

  test('is repeated on a new connection when the kept one turns out to be dead', async () => {
    let first = true;
    const { engine, server } = await connectedEngine({
      script: {
        '*': (_, response) => {
          if (server.requests.length === 2 && first) {
            first = false;
            response.socket?.destroy();
          } else response.end(JSON.stringify(inspected));
        },
      },
    });
    await engine.inspectContainer('id');
    expect(await engine.inspectContainer('id')).toMatchObject({ id: 'id' });
    expect(server.requests).toHaveLength(3);
  });

  test('takes its turn when there are more than connections, and all come', async () => {
    let atOnce = 0;
    let most = 0;
    const slow: Answer = (_, response) => {
      most = Math.max(most, (atOnce += 1));
      setTimeout(() => {
        atOnce -= 1;
        response.end(JSON.stringify(inspected));
      }, 5);
    };
    const { engine } = await connectedEngine({ script: { '*': slow } }, { maxSockets: 3 });
    const all = await Promise.all(Array.from({ length: 20 }, () => engine.inspectContainer('id')));
    expect(all).toHaveLength(20);
    expect(most).toBe(3);
  });
});

describe('close()', () => {
  test('breaks off what is under way, and lets nothing begin', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': hang } }, { maxSockets: 1 });
    const reads = [engine.inspectContainer('a'), engine.inspectContainer('b')];
    const change = engine.startContainer('a');
    await expect.poll(() => server.requests.length).toBe(2);
    await engine.close();
    for (const read of reads) await expect(read).rejects.toMatchObject({ code: 'engine-unreachable' });
    expect(await change).toMatchObject({ kind: 'unknown' });
    await expect(engine.listContainers()).rejects.toMatchObject({ code: 'engine-unreachable' });
    expect(await engine.startContainer('a')).toMatchObject({ kind: 'refused', status: 503 });
    expect(server.requests).toHaveLength(2);
  });
});
