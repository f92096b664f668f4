import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import type { Script } from '../../../../test/support/engine/scripted-engine.ts';

const version = {
  Version: '4.3.1',
  ApiVersion: '1.41',
  MinAPIVersion: '1.24',
  Components: [{ Name: 'Podman Engine' }],
};

/** `states`: results of the inspections in turn, the last one repeated; `stops`: answers to the stops. */
async function stop(states: readonly string[], stops: readonly number[], policy = 'always') {
  let looks = 0;
  let asked = 0;
  const script: Script = {
    'GET /containers/web/json': (_, response) => {
      const Status = states[Math.min(looks, states.length - 1)];
      looks += 1;
      const HostConfig = { RestartPolicy: { Name: policy } };
      response.end(JSON.stringify({ Id: 'id', Name: '/web', State: { Status, ExitCode: 3 }, HostConfig }));
    },
    'POST /containers/web/stop': (_, response) => {
      response.statusCode = stops[Math.min(asked, stops.length - 1)] ?? 304;
      asked += 1;
      response.end();
    },
    'GET /libpod/containers/id/json': {},
    'GET /networks': [],
  };
  const { engine } = await connectedEngine({ version, script }, { deadlines: { stopMarginMs: 2_000 } });
  const outcome = await engine.stopContainer('web', { timeoutSeconds: 1 });
  return { outcome, asked };
}

describe('stopContainer() of a container that Podman calls stopped already', () => {
  test('asks again while its restart policy is about to start it', async () => {
    expect(await stop(['stopped', 'running'], [304, 304, 204])).toEqual({ outcome: { kind: 'done' }, asked: 3 });
  });

  test('is a noop once it is at rest, and where no policy starts it again', async () => {
    expect(await stop(['stopped', 'exited'], [304])).toEqual({ outcome: { kind: 'noop' }, asked: 11 });
    expect(await stop(['exited'], [304])).toEqual({ outcome: { kind: 'noop' }, asked: 1 });
    expect(await stop(['stopped'], [304], 'no')).toEqual({ outcome: { kind: 'noop' }, asked: 1 });
  });

  test('is refused when no stop meets it', async () => {
    expect((await stop(['stopped'], [304])).outcome).toMatchObject({ kind: 'refused', status: 409 });
  });
});
