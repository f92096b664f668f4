import type { Application } from '../../../application/application.ts';
import type { Settings } from '../../../config/read/settings.ts';
import type { StartFacts } from '../../../domain/notification/run-facts.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { JsonObject } from '../../../domain/run/running-service.ts';
import type { Terminal } from '../terminal/terminal.ts';

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
  /** Tells who is to be notified that the service has started; undefined where nobody is. */
  readonly announceStart?: (start: ServiceStart) => Promise<void>;
  /** Tells them why it could not begin, or had to end. */
  readonly announceFailure?: (error: unknown) => void;
};

/** `schedule` is the sentence of the log. */
export type ServiceStart = Pick<StartFacts, 'schedule' | 'nextRunAtMs' | 'runOnce' | 'updateOnStart' | 'servesApi'>;

/** The HTTP API while it is served. */
export type ServedApi = {
  /** `http://127.0.0.1:8080` */
  readonly address: string;
  /** To be opened in a browser: the dashboard, or the documentation where there is none. */
  readonly page?: string;
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
