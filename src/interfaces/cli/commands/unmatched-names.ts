import { commands, nearestCommand } from '../../../config/table/commands.ts';
import { nearest, namePattern } from '../../../domain/text/name-pattern.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import type { CommandContext } from '../context/context.ts';
import { failureLines, printLines, styleFor } from '../render/print.ts';

/**
 * Warns of each name on the command line that matches no container, and returns their number. Such containers may be
 * created later.
 */
export async function warnOfUnmatchedNames({ application, settings, log, signal }: CommandContext): Promise<number> {
  const { names } = settings.service;
  if (names.length === 0 || signal.aborted) return 0;
  try {
    const strays = strayNames(names, await application.containerNames(signal));
    const then = settings.run.once ? 'the run goes on without it' : 'Upkeep waits for one with this name';
    for (const { name, nearby } of strays) log.warn(`No container matches ${quoted(name)}: ${then}; ${nearby}`);
    return strays.length;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.debug('Cannot compare the names to watch with the containers', { error: describeError(error) });
    return 0;
  }
}

/**
 * Reports each name that matches neither a container nor a command. True if there were any: they are mistyped commands.
 * Nobody waits for a service that starts before its engine, so it is not refused.
 */
export async function refuseUnmatchedNames({
  application,
  settings,
  terminal,
  signal,
  isAttended,
}: CommandContext): Promise<boolean> {
  const { names } = settings.service;
  if (names.length === 0) return false;
  const containers = await namesOfContainers();
  if (containers === undefined) return false;
  const strays = strayNames(names, containers);
  if (strays.length === 0) return false;
  const message = strays
    .map(({ name, nearby }) => `Cannot run ${quoted(name)}: it is neither a command nor a container; ${nearby}`)
    .join('\n');
  const error = new ServiceError('invalid-input', message, { remedy: remedyFor(names) });
  printLines(terminal.err, failureLines(error, styleFor(terminal.err, settings)));
  return true;

  async function namesOfContainers(): Promise<readonly string[] | undefined> {
    try {
      return await application.containerNames(signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || signal.aborted) throw error;
      if (!isAttended) return undefined;
      const which = names.map((name) => quoted(name)).join(', ');
      const why = `Cannot check whether a container matches ${which}, which is not a command: ${describeError(error)}`;
      throw new ServiceError(error.code, why, { cause: error, remedy: error.remedy ?? remedyFor(names) });
    }
  }
}

function remedyFor(names: readonly string[]): string {
  const written = printable(`upkeep run ${names.join(' ')}`, 200);
  return `upkeep --help lists the commands, upkeep containers the watched containers; to wait for a container of that name write "${written}"`;
}

type StrayName = { readonly name: string; /** Similar names. */ readonly nearby: string };

function strayNames(names: readonly string[], containers: readonly string[]): readonly StrayName[] {
  return names
    .filter((name) => !containers.some(namePattern(name)))
    .map((name) => ({ name, nearby: `${nearbyContainer(name, containers)}, and ${nearbyCommand(name)}` }));
}

function nearbyContainer(name: string, containers: readonly string[]): string {
  if (containers.length === 0) return 'there are no containers';
  const near = nearest(name, containers.slice(0, mostCompared), 1);
  return near === undefined ? 'no container has a similar name' : `the nearest container is ${quoted(near)}`;
}

/** Each comparison takes microseconds. */
const mostCompared = 2000;

function nearbyCommand(name: string): string {
  const near = nearestCommand(name);
  if (near !== undefined) return `the nearest command is "${near}"`;
  return `the commands are ${commands.map((command) => command.name).join(', ')}`;
}
