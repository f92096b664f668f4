import type { Application } from '../../../application/application.ts';
import type { Settings } from '../../../config/read/process-settings.ts';
import type { StartFacts } from '../../../domain/notification/run-facts.ts';
import type { EngineReader } from '../../../domain/outside/engine.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { Terminal } from '../terminal/terminal.ts';

export type CommandContext = {
  readonly application: Application;
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a person uses it: standard input or output is a terminal. */
  readonly isAttended: boolean;
  /** Asks a person a question whose answer is yes or no. Undefined if nobody can answer. */
  readonly confirm?: (question: string) => Promise<boolean>;
  /** Aborts when the user stops the command. */
  readonly signal: AbortSignal;
  /** Facts for the first log lines of the service. */
  readonly about?: { readonly version: string; readonly engine: EngineReader['info'] };
  /** Starts the HTTP API. Undefined when it is off. */
  readonly serve?: () => Promise<ServedApi>;
  /** Notifies that the service has started. Undefined without targets. */
  readonly announceStart?: (start: ServiceStart) => Promise<void>;
  /** Notifies why the service could not start or had to stop. */
  readonly announceFailure?: (error: unknown) => void;
};

/** `schedule` is the sentence of the log. */
export type ServiceStart = Pick<StartFacts, 'schedule' | 'nextRunAtMs' | 'runOnce' | 'updateOnStart' | 'servesApi'>;

export type ServedApi = {
  /** `http://127.0.0.1:8080` */
  readonly address: string;
  /** The page for a browser: the dashboard, or the documentation without it. */
  readonly page?: string;
  /** Tokens of the API's users; the demonstration prints them. */
  readonly tokens: { readonly api: string; readonly events: string };
  /** Stops the server, and the updates that its clients requested at a safe point. */
  readonly stop: () => Promise<void>;
};

/** Runs the command and returns the exit code. */
export type CommandFunction = (context: CommandContext) => Promise<number>;

export type ReadContext = Pick<CommandContext, 'settings' | 'terminal' | 'clock' | 'log' | 'signal'>;

export type ReadCommand = (context: ReadContext) => Promise<number>;

/** `incomplete`: no update failed, but some state is unknown, for example after a failed check. */
export const exitCodes = { done: 0, failed: 1, usage: 2, incomplete: 3, updatesAvailable: 10 } as const;

/** Results of the use cases, derived from `Application`. */
export type CheckReport = Awaited<ReturnType<Application['check']>>;
export type CheckedContainer = CheckReport['containers'][number];
export type UnfinishedContainer = CheckReport['unfinished'][number];
export type PlanReport = Awaited<ReturnType<Application['plan']>>;
export type RehearsalReport = Awaited<ReturnType<Application['rehearse']>>;
export type RecoveryReport = Awaited<ReturnType<Application['recover']>>;
