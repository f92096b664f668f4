import { check } from './commands/check.ts';
import { run } from './commands/run.ts';
import { update } from './commands/update.ts';
import { exitCodes, type CommandContext, type CommandFunction } from './context.ts';
import { failureDocument } from './documents.ts';
import { failureLines } from './failure.ts';
import { printDocument, printLines, styleFor } from './print.ts';

/** The commands that need nothing but the service. */
export const commandFunctions = { run, check, update } as const satisfies Readonly<Record<string, CommandFunction>>;

/** Carries a command out; whatever goes wrong is told in words, and becomes the exit code. Never throws. */
export async function carryOut(command: CommandFunction, context: CommandContext): Promise<number> {
  try {
    return await command(context);
  } catch (error) {
    tellFailure(error, context);
    return exitCodes.failed;
  }
}

type Listeners = Pick<CommandContext, 'terminal' | 'settings' | 'log' | 'clock'>;

/** On standard error for people, as the one document on standard output for machines, the stack to the debug log. */
export function tellFailure(error: unknown, { terminal, settings, log, clock }: Listeners): void {
  printLines(terminal.err, failureLines(error, styleFor(terminal.err, settings)));
  if (settings.output.json) printDocument(terminal, failureDocument(error, clock.nowMs()));
  if (error instanceof Error) log.debug('Why the command ended', { stack: error.stack, cause: error.cause });
}
