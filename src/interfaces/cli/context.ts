import type { Application } from '../../application/application.ts';
import type { Settings } from '../../config/settings.ts';
import type { Clock, Log } from '../../domain/outside.ts';
import type { JsonObject } from '../../domain/running-service.ts';
import type { Terminal } from './terminal.ts';

/** All that a command works with. */
export type CommandContext = {
  readonly application: Application;
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a person sits at it: standard input or output is a terminal. */
  readonly isAttended: boolean;
  /** Aborts when the user asks to stop. */
  readonly signal: AbortSignal;
  /** Begins to serve the HTTP API; undefined where it is not wanted. */
  readonly serve?: () => Promise<ServedApi>;
};

/** The HTTP API while it is served. */
export type ServedApi = {
  /** `http://127.0.0.1:8080` */
  readonly address: string;
  /** Tokens of the API's users; the demonstration prints them. */
  readonly tokens: { readonly api: string; readonly events: string };
  /** Ends what it serves, and with it the updates that were asked for there, at a safe point. */
  readonly stop: () => Promise<void>;
};

/** Carries the command out and answers with the exit code. */
export type CommandFunction = (context: CommandContext) => Promise<number>;

/** Context of a read-only command. */
export type LookContext = Pick<CommandContext, 'settings' | 'terminal' | 'clock' | 'log' | 'signal'>;

export type LookFunction = (context: LookContext) => Promise<number>;

/** Gets a document of the API, from wherever it comes. */
export type ReadDocument = (signal: AbortSignal) => Promise<JsonObject>;

/** `unsettled`: nothing failed, and yet not all is known to be well, because something could not be checked for instance. */
export const exitCodes = { done: 0, failed: 1, usage: 2, unsettled: 3, updatesAvailable: 10 } as const;
