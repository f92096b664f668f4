import type { CommandOutcome, ContainerCommand } from '../../src/domain/outside/engine-writer.ts';
import type { CommandBehaviour } from '../base/behaviour.ts';
import { Refusal } from '../base/refusal.ts';
import { killed } from './remove.ts';
import type { SandboxContainer, World } from '../world/world.ts';

/** `POST /containers/{id}/exec`, its start and its end. The command continues if its caller disconnects. */
export async function runCommand(
  world: World,
  container: SandboxContainer,
  request: ContainerCommand,
  signal: AbortSignal | undefined,
): Promise<CommandOutcome> {
  const { command, environment, user } = request;
  const { name, id, process } = container;
  if (process === undefined) throw new Refusal(409, `Container ${id} is not running`);
  if (container.state.status !== 'running')
    throw new Refusal(409, `Container ${id} is ${container.state.status}, ${wait}`);
  world.executions.push({ container: name, containerId: id, command, environment, user });
  const { exitCode = 0, output = '', tookMs = 0, hangs = false } = scriptOf(container, command);
  const tail = output.slice(-mostOutput);

  const over = new AbortController();
  const patience = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const later = async (ms: number, outcome: CommandOutcome): Promise<CommandOutcome> => {
    await world.clock.sleep(ms, patience);
    return outcome;
  };
  const ends: Promise<CommandOutcome>[] = [
    later(request.timeoutMs, { kind: 'timed-out', output: tail }),
    process.ended.then(() => ({ kind: 'ended', exitCode: killed, output: tail })),
  ];
  if (!hangs)
    ends.unshift(tookMs === 0 ? ended(exitCode, tail) : later(tookMs, { kind: 'ended', exitCode, output: tail }));
  for (const end of ends) end.catch(() => undefined);
  try {
    return await Promise.race(ends);
  } finally {
    over.abort();
  }
}

const wait = 'wait until the container is running';

const mostOutput = 65_536;

function scriptOf({ behaviour }: SandboxContainer, command: readonly string[]): CommandBehaviour {
  const [program = '', option, line = ''] = command;
  const isShell = program === 'sh' && option === '-c';
  if (!isShell || behaviour.shellless === true) return missing(program);
  const { commands = {} } = behaviour;
  const known = Object.hasOwn(commands, line) ? commands[line] : undefined;
  return known ?? { exitCode: 127, output: `sh: ${line}: not found\n` };
}

/** Error text of runc; Docker answers it with the exit code 126 or 127. */
function missing(program: string): CommandBehaviour {
  const why = `exec: "${program}": executable file not found in $PATH: unknown`;
  return {
    exitCode: 126,
    output: `OCI runtime exec failed: exec failed: unable to start container process: ${why}\r\n`,
  };
}

async function ended(exitCode: number, output: string): Promise<CommandOutcome> {
  return { kind: 'ended', exitCode, output };
}
