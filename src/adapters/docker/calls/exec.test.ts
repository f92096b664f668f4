import type { ContainerCommand } from '../../../domain/outside/engine.ts';
import { describe, expect, test } from 'vitest';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';
import { refuse, type Answer, type Script } from '../../../../test/support/engine/scripted-engine.ts';

const command: ContainerCommand = {
  command: ['sh', '-c', 'true'],
  environment: ['A=1'],
  user: '0:7',
  timeoutMs: 5_000,
};

const created = { 'POST /containers/id/exec': { Id: 'exec-1' } };
const ended = (ExitCode: number) => ({ 'GET /exec/exec-1/json': { Running: false, ExitCode } });
const output =
  (...pieces: readonly string[]): Answer =>
  (_, response) => {
    for (const piece of pieces) response.write(frame(piece));
    response.end();
  };

function frame(text: string): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, text.length]);
  return Buffer.concat([header, Buffer.from(text)]);
}

async function runWith(script: Script, more: Partial<ContainerCommand> = {}, options = {}) {
  const { engine, server } = await connectedEngine({ script: { ...created, ...script } }, options);
  return { outcome: await engine.runCommand('id', { ...command, ...more }), server };
}

describe('runCommand()', () => {
  test('creates, starts attached, reads, and asks for the exit code', async () => {
    const { outcome, server } = await runWith({ 'POST /exec/exec-1/start': output('one\n', 'two\n'), ...ended(3) });
    expect(outcome).toEqual({ kind: 'ended', exitCode: 3, output: 'one\ntwo\n' });
    expect(server.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      [
        'POST',
        '/containers/id/exec',
        { Cmd: ['sh', '-c', 'true'], Env: ['A=1'], User: '0:7', AttachStdout: true, AttachStderr: true },
      ],
      ['POST', '/exec/exec-1/start', { Detach: false, Tty: false }],
      ['GET', '/exec/exec-1/json', undefined],
    ]);
  });

  test('leaves the user to the container where none is given', async () => {
    const { server } = await runWith({ 'POST /exec/exec-1/start': output(), ...ended(0) }, { user: undefined });
    expect(server.requests[0]?.body).not.toHaveProperty('User');
  });

  test.each([
    ['create', { 'POST /containers/id/exec': refused(409, 'Container id is not running') }, 409],
    ['start', { 'POST /exec/exec-1/start': refused(500, 'no such runtime') }, 500],
  ])('is refused in the words of the engine when it refuses to %s', async (_step, script, status) => {
    const { outcome } = await runWith(script);
    expect(outcome).toMatchObject({ kind: 'refused', status, message: expect.stringMatching(/not running|runtime/) });
  });

  test('is refused when the engine is out of reach', async () => {
    const outcome = await engineAt('unix:///nowhere/docker.sock').runCommand('id', command);
    expect(outcome).toMatchObject({ kind: 'refused', status: 503 });
  });

  test('is still followed when its output breaks off', async () => {
    let asked = 0;
    const { outcome } = await runWith({
      'POST /exec/exec-1/start': (_, response) => {
        response.write(frame('one\n'));
        setTimeout(() => response.destroy(), 20);
      },
      'GET /exec/exec-1/json': (_, response) => {
        asked += 1;
        response.end(JSON.stringify(asked < 4 ? { Running: true, ExitCode: null } : { Running: false, ExitCode: 9 }));
      },
    });
    expect(outcome).toEqual({ kind: 'ended', exitCode: 9, output: 'one\n' });
  });

  test.each([
    [
      'the engine forgets it',
      { 'POST /exec/exec-1/start': output(), 'GET /exec/exec-1/json': refused(404, 'No such exec') },
    ],
    ['the engine goes away', { 'POST /exec/exec-1/start': output(), 'GET /exec/exec-1/json': reset }],
    ['the answer to the start is lost', { 'POST /exec/exec-1/start': reset }],
    ['a proxy loses that answer', { 'POST /exec/exec-1/start': refused(504, 'gateway time-out') }],
    ['it has no id', { 'POST /containers/id/exec': {} }],
  ])('is unknown when %s', async (_why, script: Script) => {
    expect((await runWith(script)).outcome).toMatchObject({ kind: 'unknown' });
  });

  test('is timed out also while the engine does not answer', async () => {
    const silent: Answer = () => undefined;
    const { outcome } = await runWith({ 'POST /exec/exec-1/start': silent }, { timeoutMs: 50 });
    expect(outcome).toEqual({ kind: 'timed-out', output: '' });
  });
});

function refused(status: number, message: string): Answer {
  return (_, response) => refuse(response, status, message);
}

function reset(_: unknown, response: Parameters<Answer>[1]): void {
  response.socket?.resetAndDestroy();
}
