import { isFailure, type CommandOutcome, type ContainerCommand } from '../../../domain/outside/engine.ts';
import { changeAndRead, errorOutcome, thrownOutcome, read, refusal } from './calls.ts';
import type { Client } from '../transport/client.ts';
import { containerPath } from './containers.ts';
import { startDeadline, type EngineResponse } from '../transport/request.ts';
import { fields, pathSegment, text, maxAnswerBytes } from '../transport/answer.ts';
import { quoted } from '../../../domain/text/printable.ts';

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
  if (isFailure(created)) return created;
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
      timeLimit: { for: 'head', ms: client.deadlines.changeMs },
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

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerLogs */
export async function containerLogs(
  client: Client,
  id: string,
  { tail }: { readonly tail: number },
  signal?: AbortSignal,
): Promise<string> {
  const doing = `read the log of the container ${quoted(id)}`;
  const path = containerPath(id);
  // Below API 1.42 the answer does not show whether it consists of frames or of plain terminal output.
  const inspected = await read(client, { doing, path: `${path}/json`, signal });
  const reply = await client.send({
    method: 'GET',
    path: `${path}/logs`,
    query: { stdout: '1', stderr: '1', tail: String(tail) },
    socket: 'own',
    timeLimit: { for: 'whole', ms: client.deadlines.readMs },
    signal,
  });
  if (reply.kind === 'error') throw refusal(doing, reply);
  const hasTerminal = fields(fields(inspected)['Config'])['Tty'] === true;
  return await lastText(hasTerminal ? reply.body : logPayloads(reply.body));
}

async function lastText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const tail = createTextTail();
  let seen = 0;
  for await (const chunk of chunks) {
    tail.add(chunk);
    seen += chunk.length;
    if (seen > maxAnswerBytes) break;
  }
  return tail.text();
}

/**
 * Joins standard output and error of a container without a terminal. The engine sends frames: an 8-byte header (the
 * stream's number, three zeros, the payload's length) and the payload. Each piece is yielded at once, so a large frame
 * costs no memory. https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerAttach
 */
export async function* logPayloads(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const header = Buffer.alloc(headerBytes);
  let headerFilled = 0;
  let payloadRemaining = 0;

  for await (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      if (payloadRemaining > 0) {
        const piece = chunk.subarray(at, at + payloadRemaining);
        at += piece.length;
        payloadRemaining -= piece.length;
        yield piece;
        continue;
      }
      const piece = chunk.subarray(at, at + headerBytes - headerFilled);
      header.set(piece, headerFilled);
      at += piece.length;
      headerFilled += piece.length;
      if (headerFilled < headerBytes) break;
      headerFilled = 0;
      payloadRemaining = header.readUInt32BE(lengthOffset);
    }
  }
}

const headerBytes = 8;
const lengthOffset = 4;

/** The end of a text stream of any length. */
type TextTail = {
  readonly add: (chunk: Uint8Array) => void;
  readonly text: () => string;
};

/** Most bytes that are kept. */
const keptBytes = 65_536;

/** Keeps the last 64 kB in one buffer of twice that size. Chunks are copied, because each may be part of a large one. */
export function createTextTail(): TextTail {
  const kept = Buffer.alloc(2 * keptBytes);
  let filled = 0;
  return {
    add(chunk) {
      const added = chunk.subarray(-keptBytes);
      if (filled + added.length > kept.length) {
        kept.copyWithin(0, filled - keptBytes, filled);
        filled = keptBytes;
      }
      kept.set(added, filled);
      filled += added.length;
    },
    text() {
      const end = kept.subarray(Math.max(0, filled - keptBytes), filled);
      return end.subarray(startOfCharacter(end)).toString('utf8');
    },
  };
}

/** Skips the rest of a cut character: https://www.rfc-editor.org/rfc/rfc3629#section-3 */
function startOfCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}
