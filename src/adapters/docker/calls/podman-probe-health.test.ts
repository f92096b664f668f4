import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { refuse, type Answer } from '../../../../test/support/engine/scripted-engine.ts';

const podman = { Version: '4.3.1', ApiVersion: '1.41', Components: [{ Name: 'Podman Engine' }] };
const path = 'GET /libpod/containers/id/healthcheck';
const refusing =
  (status: number, message: string): Answer =>
  (_, response) =>
    refuse(response, status, message);

describe('probeHealth()', () => {
  test('has Podman run the health check', async () => {
    const { engine, server } = await connectedEngine({ version: podman, script: { [path]: { Status: 'healthy' } } });
    await engine.probeHealth('id');
    expect(server.requests).toMatchObject([{ path: '/libpod/containers/id/healthcheck' }]);
  });

  test('leaves an engine alone that does it by itself', async () => {
    const { engine, server } = await connectedEngine({ script: {} });
    await engine.probeHealth('id');
    expect(server.requests).toEqual([]);
  });

  test.each([
    [409, 'container is not running'],
    [404, 'no such container'],
  ])('leaves %i to the next look at the container', async (status, message) => {
    const { engine } = await connectedEngine({ version: podman, script: { [path]: refusing(status, message) } });
    await expect(engine.probeHealth('id')).resolves.toBeUndefined();
  });

  test('ends with the signal while the health check still runs', async () => {
    const { engine, server } = await connectedEngine({ version: podman, script: { [path]: () => undefined } });
    const stop = new AbortController();
    const probing = engine.probeHealth('id', stop.signal);
    await expect.poll(() => server.requests).toHaveLength(1);
    stop.abort();
    await expect(probing).rejects.toBe(stop.signal.reason);
  });

  test('throws what else is refused', async () => {
    const { engine } = await connectedEngine({ version: podman, script: { [path]: refusing(500, 'broken') } });
    await expect(engine.probeHealth('id')).rejects.toMatchObject({ code: 'engine-refused' });
  });
});
