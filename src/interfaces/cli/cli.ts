import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { defined } from '../../domain/text/plain-data.ts';
import {
  exitCodes,
  failureDocument,
  type CommandContext,
  type CommandFunction,
  type ReadCommand,
  type Sources,
} from './context/context.ts';
import { failureLines, remedyOf, printDocument, printLines, styleFor } from './render/print.ts';

/** The commands that work without a running service. Each loads its modules when it is used. */
export const changeCommands = {
  run: async () => (await import('./commands/run.ts')).run,
  check: async () => (await import('./commands/check.ts')).check,
  update: async () => (await import('./commands/update.ts')).update,
  rollback: async () => (await import('./commands/rollback.ts')).rollback,
  recover: async () => (await import('./commands/recover.ts')).recover,
  data: async () => (await import('./commands/data.ts')).data,
} as const satisfies Readonly<Record<string, () => Promise<CommandFunction>>>;

/** The commands that show data of a running service. */
export const readCommands = {
  containers: async ({ containers }) => (await import('./commands/containers.ts')).createContainers(containers),
  history: async ({ history }) => (await import('./commands/history.ts')).createHistory(history),
  events: async ({ follow }) => (await import('./commands/events.ts')).createEvents(follow),
  notes: async ({ notes }) => (await import('./commands/notes.ts')).createNotesCommand(notes),
  config: async ({ config }) => (await import('./commands/config.ts')).createConfig(config),
} as const satisfies Readonly<Record<string, (sources: Sources) => Promise<ReadCommand>>>;

/** Runs a command. Reports every failure and turns it into the exit code. Never throws. */
export async function runReportingFailures<Context extends Listeners>(
  command: (context: Context) => Promise<number>,
  context: Context,
): Promise<number> {
  try {
    return await command(context);
  } catch (error) {
    return tellFailure(error, context);
  }
}

type Listeners = Pick<CommandContext, 'terminal' | 'settings' | 'log' | 'clock'> & {
  /** Standard error has log lines for programs only. */
  readonly isLogOnly?: boolean;
  /** A service that cannot start exits with 1 whatever the reason. */
  readonly isService?: boolean;
};

/**
 * Reports a failure: on standard error for people or in the log, as the document on standard output for machines, with
 * the stack in the debug log. Returns the exit code: a wrong value may show only when it is used.
 */
export function tellFailure(
  error: unknown,
  { terminal, settings, log, clock, isLogOnly, isService }: Listeners,
): number {
  if (isLogOnly) log.error(describeError(error), defined({ remedy: remedyOf(error) }));
  else printLines(terminal.err, failureLines(error, styleFor(terminal.err, settings)));
  if (settings.output.json) printDocument(terminal, failureDocument(error, clock.nowMs()));
  if (error instanceof Error) log.debug('The command failed', { stack: error.stack, cause: error.cause });
  const isWrongValue = error instanceof ServiceError && error.code === 'invalid-input';
  return isWrongValue && isService !== true ? exitCodes.usage : exitCodes.failed;
}
