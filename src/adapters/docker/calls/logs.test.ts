import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import type { Answer } from '../../../../test/support/engine/scripted-engine.ts';

function frame(stream: 1 | 2, text: string | Buffer): Buffer {
  const payload = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

async function engineWithLog(bytes: Buffer, { Tty = false } = {}) {
  const log: Answer = (_, response) => void response.end(bytes);
  return await connectedEngine({
    script: { 'GET /containers/id/json': { Id: 'id', Config: { Tty } }, 'GET /containers/id/logs': log },
  });
}

describe('containerLogs()', () => {
  test('joins output and errors', async () => {
    const { engine, server } = await engineWithLog(Buffer.concat([frame(1, 'one\n'), frame(2, 'two\n'), frame(1, '')]));
    expect(await engine.containerLogs('id', { tail: 20 })).toBe('one\ntwo\n');
    expect(server.requests.at(-1)?.query).toEqual({ stdout: '1', stderr: '1', tail: '20' });
  });

  test('takes the output of a terminal as it is', async () => {
    const { engine } = await engineWithLog(Buffer.from('\u0001\0\0\0 plain\r\n'), { Tty: true });
    expect(await engine.containerLogs('id', { tail: 20 })).toBe('\u0001\0\0\0 plain\r\n');
  });

  test('hands on the last 64 kB, and no half character', async () => {
    const line = frame(1, `${'ß'.repeat(1_000)}\n`);
    const { engine } = await engineWithLog(Buffer.concat(Array.from({ length: 200 }, () => line)));
    const log = await engine.containerLogs('id', { tail: 200 });
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(log)).toBeGreaterThan(65_000);
    expect(log).toMatch(/^ß+\n/);
  });

  test('stops reading a log without end', async () => {
    const endless: Answer = (_, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write(frame(1, Buffer.alloc(1_048_576, 'x')), () => setImmediate(more));
      };
      more();
    };
    const { engine } = await connectedEngine({
      script: { 'GET /containers/id/json': { Id: 'id' }, 'GET /containers/id/logs': endless },
    });
    expect(await engine.containerLogs('id', { tail: 1 })).toHaveLength(65_536);
  });
});
