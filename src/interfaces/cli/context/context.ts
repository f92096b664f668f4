import type { Application } from '../../../application/application.ts';
import type { Settings } from '../../../config/read/process-settings.ts';
import type { StartFacts } from '../../../domain/notification/run-facts.ts';
import type { EngineReader } from '../../../domain/outside/engine.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Staleness } from '../../../domain/check/verdict.ts';
import type { UnfinishedUpdate } from '../../../domain/recovery/leftovers.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { summarise, type OutcomeKind, type Session, type EngineRun } from '../../../domain/run/session.ts';
import {
  checkedEntry,
  enginesField,
  outcomeEntry,
  plannedDataEntry,
  unfinishedField,
  type ConfiguredOption,
} from '../../json/entries.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { replyFields } from '../../json/timestamps.ts';

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
export type PlanReport = Awaited<ReturnType<Application['plan']>>;
export type RehearsalReport = Awaited<ReturnType<Application['rehearse']>>;
export type RecoveryReport = Awaited<ReturnType<Application['recover']>>;

/** An answer as typed data for people, and as the document of the API. */
export type Answer<View> = { readonly view: View; readonly document: JsonObject };

export type Fetch<View> = (signal: AbortSignal) => Promise<Answer<View>>;

/** The data for commands that change nothing, of this process or of a running service. Texts are not escaped yet. */
export type Sources = {
  readonly containers: Fetch<ContainersView>;
  /** Oldest first. */
  readonly history: Fetch<readonly PastRun[]>;
  readonly config: Fetch<ConfigView>;
  /** The release notes of the newer version of a container. */
  readonly notes: (container: string, signal: AbortSignal) => Promise<Answer<NotesView>>;
  readonly follow: (signal: AbortSignal) => AsyncIterable<JsonObject>;
};

export type ContainersView = {
  readonly containers: readonly {
    /** Versions for display; absent when they are not known. */
    readonly version?: string;
    readonly latestVersion?: string;
    /** Reference of the newer image. */
    readonly candidate?: string;
    /** When the newer image was built, milliseconds since the epoch. */
    readonly releasedAtMs?: number;
    readonly name: string;
    /** Present with several engines. */
    readonly engine?: string;
    readonly image: string;
    /** `running (healthy)`; empty for a container during an update. */
    readonly state: string;
    readonly finding: Finding;
    /** The reason of the last check; empty before it. */
    readonly reason: string;
  }[];
  /** Undefined where the service does not list them. */
  readonly unwatched: readonly UnwatchedView[] | undefined;
  /** Unreachable engines; absent without any. */
  readonly unreachable?: readonly { readonly name: string; readonly error: string }[];
};

/** `told`: reported by a service without verdicts, which only knows whether there is an update. */
export type Finding =
  | { readonly kind: 'checked'; readonly status: Staleness; readonly hold?: string; readonly eligibleAtMs?: number }
  | { readonly kind: 'told'; readonly status: 'stale' | 'held' | 'nothing found' }
  | { readonly kind: 'unfinished'; readonly state: UnfinishedUpdate['state'] }
  | { readonly kind: 'unchecked' };

/** `reason` follows the container's name: `is stopped`. */
export type UnwatchedView = {
  readonly name: string;
  readonly image: string;
  readonly reason: string;
  /** Present with several engines. */
  readonly engine?: string;
};

export type PastRun = {
  /** RFC 3339. */
  readonly endedAt: string;
  /** Empty when it is not known. */
  readonly trigger: string;
  /** The asker; empty if that is not known. */
  readonly by: string;
  readonly durationMs: number | undefined;
  readonly scanned: number;
  readonly updated: number;
  readonly failed: number;
  /** The containers that the run changed or failed to change. */
  readonly containers: readonly {
    readonly name: string;
    /** Present with several engines. */
    readonly engine?: string;
    readonly outcome: OutcomeKind | (string & {});
    /** The verdict of its check, and for `held` the kind of reason; empty if they do not matter. */
    readonly verdict: string;
    readonly hold?: string;
    readonly reason: string;
    readonly from?: string;
    readonly to?: string;
  }[];
  /** Engines without a run; empty with one engine. */
  readonly leftOut: readonly { readonly name: string; readonly result: string }[];
};

export type NotesView = {
  readonly container: string;
  readonly version: string;
  readonly latestVersion: string;
  readonly state: string;
  readonly error: string;
  readonly url: string;
  readonly more: number;
  /** The newest first. */
  readonly releases: readonly {
    readonly tag: string;
    readonly publishedAt: string;
    readonly breaking: readonly string[];
    readonly points: readonly string[];
  }[];
};

export type ConfigView = {
  readonly options: readonly Omit<ConfiguredOption, 'meaning'>[];
  /** A sentence that describes the watched containers; may be empty. */
  readonly watched: string;
};

/** Output of `--json`: one document with the field names of the HTTP interface. */
export type Document = Readonly<Record<string, unknown>>;

export function checkDocument(report: CheckReport): Document {
  const endedAtMs = report.startedAtMs + report.durationMs;
  return {
    containers: report.containers.map((container) => checkedEntry(container, endedAtMs)),
    count: report.containers.length,
    ...unfinishedField(report.unfinished),
    not_possible: report.notPossible,
    ...enginesField(report),
    ...closing(report),
  };
}

export function sessionDocument(session: Session): Document {
  return {
    run_id: session.runId,
    summary: summarise(session),
    containers: session.containers.map(outcomeEntry),
    ...enginesField(session),
    ...closing(session),
  };
}

/** The report of the check, and the resulting plan. `after` counts transactions from 1. */
export function planDocument({ report, plan }: PlanReport): Document {
  const numbers = new Map(plan.transactions.map(({ id }, index) => [id, index + 1]));
  const transactions = plan.transactions.map(({ members, after }, index) => ({
    number: index + 1,
    after: after.flatMap((id) => numbers.get(id) ?? []),
    members: members.map(({ container, cause, reference, formerReference, digest, desiredEndState, data }) => ({
      name: container.name,
      image: formerReference ?? reference,
      to_image: formerReference && reference,
      cause,
      image_id: container.imageId,
      latest_digest: digest ?? '',
      afterwards: desiredEndState,
      data: data && plannedDataEntry(data),
    })),
  }));
  return {
    dry_run: true,
    transactions,
    restarts: plan.restarts.map(({ container, because }) => ({
      name: container.name,
      after: because.map(({ name }) => name),
    })),
    refused: plan.refused.map(({ name, reason }) => ({ name, reason })),
    ...checkDocument(report),
  };
}

/** The same, with the results of the rehearsal. */
export function rehearsalDocument(report: RehearsalReport): Document {
  const verified = report.rehearsals.map(({ containers, faithful, reason, figures }) => ({
    containers,
    faithful,
    reason,
    data: figures && { bytes: figures.bytes, files: figures.files },
  }));
  return { ...planDocument(report), verified };
}

export function failureDocument(error: unknown, nowMs: number): Document {
  return {
    error: describeError(error),
    code: error instanceof ServiceError ? error.code : 'internal',
    remedy: error instanceof ServiceError ? error.remedy : undefined,
    ...replyFields(nowMs),
  };
}

function closing({ startedAtMs, durationMs }: { readonly startedAtMs: number; readonly durationMs: number }): Document {
  return {
    timing: { duration_ms: Math.round(durationMs), duration: formatDuration(durationMs) },
    ...replyFields(startedAtMs + durationMs),
  };
}

/** The worst result decides the exit code: failed, then incomplete, then done. */
export function worstCode(codes: Iterable<ResultCode>): ResultCode {
  const found = new Set(codes);
  return fromWorst.find((code) => found.has(code)) ?? exitCodes.done;
}

/** A code for each container of a run. */
export function codesOfSession({ containers, engines = [] }: Session): readonly ResultCode[] {
  return [...containers.map(({ outcome }) => codeOfOutcome[outcome]), ...codesOfEngines(engines)];
}

/** An unreachable engine is a failure. A busy one is not, because the next run includes it. */
function codesOfEngines(engines: readonly EngineRun[]): readonly ResultCode[] {
  return engines.map(({ result }) => codeOfEngine[result]);
}

const codeOfEngine: Readonly<Record<EngineRun['result'], ResultCode>> = {
  ran: exitCodes.done,
  busy: exitCodes.incomplete,
  unreachable: exitCodes.failed,
  failed: exitCodes.failed,
};

/** A code for each container of a check. */
export function codesOfCheck({ containers, engines = [] }: CheckReport): readonly ResultCode[] {
  const codes = containers.map(({ status }) => (status === 'unknown' ? exitCodes.incomplete : exitCodes.done));
  return [...codes, ...codesOfEngines(engines)];
}

/** A code for each interrupted update. Containers that only look like one have no code. */
export function codesOfRecovery({ transactions, engines = [] }: RecoveryReport): readonly ResultCode[] {
  const codes = transactions.map(({ result, isPending }) => {
    if (result === 'failed') return exitCodes.failed;
    return isPending ? exitCodes.incomplete : exitCodes.done;
  });
  return [...codes, ...codesOfEngines(engines)];
}

export type ResultCode = (typeof fromWorst)[number];

const fromWorst = [exitCodes.failed, exitCodes.incomplete, exitCodes.done] as const;

const codeOfOutcome: Readonly<Record<OutcomeKind, ResultCode>> = {
  updated: exitCodes.done,
  went_back: exitCodes.done,
  fresh: exitCodes.done,
  restarted: exitCodes.done,
  skipped: exitCodes.done,
  deferred: exitCodes.done,
  failed: exitCodes.failed,
  rolled_back: exitCodes.failed,
  unknown: exitCodes.incomplete,
};
