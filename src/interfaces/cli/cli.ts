import { check } from './commands/check.ts';
import { createConfig } from './commands/config.ts';
import { createContainers } from './commands/containers.ts';
import { createEvents } from './commands/events.ts';
import { createHistory } from './commands/history.ts';
import { recover } from './commands/recover.ts';
import { rollback } from './commands/rollback.ts';
import { run } from './commands/run.ts';
import { update } from './commands/update.ts';
import { exitCodes, type CommandContext, type CommandFunction, type LookFunction } from './context/context.ts';
import { failureDocument } from './context/documents.ts';
import type { Sources } from './context/views.ts';
import { failureLines } from './context/failure.ts';
import { printDocument, printLines, styleFor } from './render/print.ts';

/** The commands that work without a running service. */
export const commandFunctions = { run, check, update, rollback, recover } as const satisfies Readonly<
  Record<string, CommandFunction>
>;

/** The commands that show data of a running service. */
export const lookFunctions = {
  containers: (sources) => createContainers(sources.containers),
  history: (sources) => createHistory(sources.history),
  events: (sources) => createEvents(sources.follow),
  config: (sources) => createConfig(sources.config),
} as const satisfies Readonly<Record<string, (sources: Sources) => LookFunction>>;

/** Runs a command. Every failure is reported in words and becomes the exit code. Never throws. */
export async function carryOut<Context extends Listeners>(
  command: (context: Context) => Promise<number>,
  context: Context,
): Promise<number> {
  try {
    return await command(context);
  } catch (error) {
    tellFailure(error, context);
    return exitCodes.failed;
  }
}

type Listeners = Pick<CommandContext, 'terminal' | 'settings' | 'log' | 'clock'>;

/**
 * Reports a failure: on standard error for people, as the document on standard output for machines, with the stack in
 * the debug log.
 */
export function tellFailure(error: unknown, { terminal, settings, log, clock }: Listeners): void {
  printLines(terminal.err, failureLines(error, styleFor(terminal.err, settings)));
  if (settings.output.json) printDocument(terminal, failureDocument(error, clock.nowMs()));
  if (error instanceof Error) log.debug('Why the command ended', { stack: error.stack, cause: error.cause });
}
