import type { CommandOutcome, ContainerCommand } from '../../../domain/outside/engine-writer.ts';
import { changeAndRead, errorOutcome, thrownOutcome } from './changes.ts';
import type { Client } from '../transport/client.ts';
import { containerPath } from './containers.ts';
import { startDeadline } from '../transport/deadline.ts';
import { createTextTail, logPayloads, type TextTail } from '../streams/command-output.ts';
import { read } from '../reading/reads.ts';
import type { EngineResponse } from '../transport/request.ts';
import { fields, pathSegment, text } from '../transport/json-fields.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Exec */
export async function runCommand(
  client: Client,
  id: string,
  command: ContainerCommand,
  signal?: AbortSignal,
): Promise<CommandOutcome> {
  signal?.throwIfAborted();
  const created = await changeAndRead(client, {
    path: `${containerPath(id)}/exec`,
    body: {
      Cmd: command.command,
      Env: command.environment,
      AttachStdout: true,
      AttachStderr: true,
      ...(command.user !== undefined && { User: command.user }),
    },
  });
  if (created.kind === 'refused' || created.kind === 'unknown') return created;
  const execId = created.kind === 'done' ? text(fields(created.answer)['Id']) : '';
  if (execId === '') return { kind: 'unknown', message: 'the engine returned no id for the command' };
  return await startAndFollow(client, execId, command.timeoutMs, signal);
}

async function startAndFollow(
  client: Client,
  execId: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<CommandOutcome> {
  const tail = createTextTail();
  const ending = new AbortController();
  const deadline = startDeadline(client.clock, timeoutMs, () => ending.abort());
  const following = signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal]);
  try {
    const reply = await client.send({
      method: 'POST',
      path: `${execPath(execId)}/start`,
      body: { Detach: false, Tty: false },
      socket: 'own',
      patience: { for: 'head', ms: client.deadlines.changeMs },
      signal: following,
    });
    if (reply.kind === 'error') return errorOutcome(reply);
    const exitCode = await follow(client, execId, collect(reply.body, tail), following);
    if (exitCode === undefined) return { kind: 'unknown', message: 'the engine no longer knows the command' };
    return { kind: 'ended', exitCode, output: tail.text() };
  } catch (error) {
    if (signal?.aborted) throw error;
    if (deadline.passed()) return { kind: 'timed-out', output: tail.text() };
    return thrownOutcome(error);
  } finally {
    deadline.end();
    ending.abort();
  }
}

/** A command without a terminal sends its output in frames, like a log. */
async function collect(body: EngineResponse['body'], tail: TextTail): Promise<void> {
  try {
    for await (const chunk of logPayloads(body)) tail.add(chunk);
  } catch {
    // A proxy may have cut a silent stream. The exit code is read in any case.
  }
}

/**
 * The exit code; undefined when the engine no longer knows the command. The end of the output is only a hint: a child
 * process may keep it open, and a command may close it early.
 */
async function follow(
  client: Client,
  execId: string,
  output: Promise<void>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const silence = new AbortController();
  void output.then(() => silence.abort());
  const restUnlessSilent = async (ms: number): Promise<void> => {
    if (silence.signal.aborted) return;
    await client.clock.sleep(ms, AbortSignal.any([signal, silence.signal])).catch(() => signal.throwIfAborted());
  };
  for (let silentMs = firstPollMs; ;) {
    if (silence.signal.aborted) {
      await client.clock.sleep(silentMs, signal);
      silentMs = Math.min(2 * silentMs, pollMs);
    }
    await restUnlessSilent(pollMs);
    const answer = await read(client, { doing: 'follow a command', path: `${execPath(execId)}/json`, signal });
    if (answer === undefined) return undefined;
    const { Running, ExitCode } = fields(answer);
    if (Running !== false || typeof ExitCode !== 'number') continue;
    await restUnlessSilent(lateOutputMs);
    return ExitCode;
  }
}

/** The engine records the exit some milliseconds after the end of the output. */
const firstPollMs = 5;
const pollMs = 1_000;
/** Time for output that arrives after the exit. */
const lateOutputMs = 300;

function execPath(execId: string): string {
  return `/exec/${pathSegment(execId)}`;
}
