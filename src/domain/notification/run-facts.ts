import type { RecoveredTransaction, RemovedImage, ScanPurpose } from '../run/event.ts';
import { type ContainerOutcome, entryKeyOf, type Trigger } from '../run/session.ts';
import type { Message, MessageLevel } from './message.ts';

/** The facts about a run for messages. Times are Unix milliseconds. */
export type RunFacts = {
  readonly runId: string;
  readonly purpose: ScanPurpose;
  readonly trigger: Trigger;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Why the run as a whole failed; undefined otherwise. */
  readonly error: string | undefined;
  /** The outcome of each container; after a check, only stale containers and those that could not be checked. */
  readonly containers: readonly ContainerOutcome[];
  /** The containers with news, by `entryKeyOf`. */
  readonly news: ReadonlySet<string>;
  /** The events of containers, in order. */
  readonly steps: readonly RunStep[];
  readonly removedImages: readonly (RemovedImage & { readonly atMs: number })[];
  /**
   * The labels of images that containers were updated to, rolled back from, or had before, by image id. Versions and
   * release notes come from them.
   */
  readonly imageLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
};

/** The run with only some of its containers. */
export function partOfRun(facts: RunFacts, isIn: (key: string) => boolean): RunFacts {
  return {
    ...facts,
    containers: facts.containers.filter((one) => isIn(entryKeyOf(one))),
    news: new Set([...facts.news].filter((key) => isIn(key))),
    steps: facts.steps.filter(({ key }) => isIn(key)),
    removedImages: facts.removedImages.filter(({ containerName }) => isIn(containerName)),
  };
}

export type RunStep = {
  readonly kind: 'started' | 'ended';
  /** The container, by `entryKeyOf`. */
  readonly key: string;
  readonly atMs: number;
};

/** The facts of the startup message. */
export type StartFacts = {
  readonly version: string;
  /** Empty if the engine does not answer. */
  readonly engineApiVersion: string;
  readonly services: readonly string[];
  /** Empty: unscoped. */
  readonly scope: string;
  /** The schedule in words, as in the log: `Updates every 24h`. */
  readonly schedule: string;
  /** Unix milliseconds; undefined: nothing is scheduled. */
  readonly nextRunAtMs: number | undefined;
  readonly runOnce: boolean;
  readonly updateOnStart: boolean;
  readonly servesApi: boolean;
  readonly atMs: number;
};

/** The results of earlier updates that were interrupted. */
export type RepairFacts = { readonly transactions: readonly RecoveredTransaction[]; readonly atMs: number };

/** A message without the fields that the sender adds. */
export type Draft = Pick<
  Message,
  'title' | 'text' | 'markdown' | 'isFromTemplate' | 'level' | 'urgency' | 'origin' | 'lines' | 'sections'
>;

/** Writes messages in one style. Undefined: nothing to report at that level. */
export type Composer = {
  readonly start: (facts: StartFacts, least: MessageLevel) => Draft | undefined;
  readonly run: (facts: RunFacts, least: MessageLevel) => Draft | undefined;
  readonly repairs: (facts: RepairFacts, least: MessageLevel) => Draft | undefined;
};
