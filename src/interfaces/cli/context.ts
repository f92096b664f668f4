import type { Application } from '../../application/application.ts';
import type { Settings } from '../../config/settings.ts';
import type { Clock, Log } from '../../domain/outside.ts';
import type { Terminal } from './terminal.ts';

/** All that a command works with. */
export type CommandContext = {
  readonly application: Application;
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the user asks to stop. */
  readonly signal: AbortSignal;
};

/** Carries the command out and answers with the exit code. */
export type CommandFunction = (context: CommandContext) => Promise<number>;

export const exitCodes = { done: 0, failed: 1, usage: 2, updatesAvailable: 10 } as const;
