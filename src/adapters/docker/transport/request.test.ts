import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { startScriptedEngine, type Answer } from '../../../../test/support/engine/scripted-engine.ts';
import { createSystemClock } from '../../process/clock.ts';
import { parseAddress, createConnection, type Connection } from './connection.ts';
import { sendRequest, type EngineRequest } from './request.ts';

const request: EngineRequest = {
  method: 'GET',
  path: '/v1.51/x',
  socket: 'shared',
  timeLimit: { for: 'whole', ms: 1_000 },
};

/** A connection that counts its released sockets. */
async function counted(script: Answer) {
  const server = await startScriptedEngine({ script: { '*': script } });
  const real = createConnection(parseAddress(server.host, false), { clock: createSystemClock(), maxSockets: 2 });
  onTestFinished(async () => {
    real.close();
    await server.close();
  });
  const ended = vi.fn();
  const connection: Connection = {
    ...real,
    request: (head, breakOff) => {
      const prepared = real.request(head, breakOff);
      return {
        ...prepared,
        ended: () => {
          prepared.ended();
          ended();
        },
      };
    },
  };
  return { connection, ended };
}

describe('sendRequest()', () => {
  const clock = createSystemClock();

  test('lets go of everything once the body has been read, or left', async () => {
    const { connection, ended } = await counted((_, response) => void response.end('x'.repeat(1_000_000)));
    const whole = await sendRequest(connection, clock, request);
    let length = 0;
    for await (const chunk of whole.body) length += chunk.length;
    expect([length, ended.mock.calls.length]).toEqual([1_000_000, 1]);
    const left = await sendRequest(connection, clock, request);
    for await (const chunk of left.body) if (chunk.length > 0) break;
    expect(ended).toHaveBeenCalledTimes(2);
  });

  test('a deadline for the whole answer passes while it keeps coming', async () => {
    const clock = createFakeClock();
    let more: (() => void) | undefined;
    const { connection } = await counted((_, response) => {
      more = () => void response.write('x'.repeat(1_000_000));
      response.writeHead(200).flushHeaders();
    });
    const { body } = await sendRequest(connection, clock, request);
    more?.();
    expect((await body.next()).done).toBe(false);
    await clock.advance(1_000);
    const rest = (async () => {
      for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
    })();
    await expect(rest).rejects.toMatchObject({ code: 'timeout', why: 'it has not answered for 1s' });
  });

  test('lets go of everything when there is no answer', async () => {
    const { connection, ended } = await counted((_, response) => void response.destroy());
    await expect(sendRequest(connection, clock, request)).rejects.toMatchObject({ sent: true });
    expect(ended).toHaveBeenCalledTimes(1);
  });

  test('refuses to begin on a connection that is closed', async () => {
    const { connection, ended } = await counted((_, response) => void response.end());
    connection.close();
    await expect(sendRequest(connection, clock, request)).rejects.toMatchObject({ sent: false });
    expect(ended).not.toHaveBeenCalled();
  });
});
