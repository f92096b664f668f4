import type { Container, Image, ImageSummary, Network } from '../container/container.ts';
import type { UnitReading, UnitRecord } from '../container/quadlet.ts';
import type { ComposeProject } from '../compose/compose-project.ts';
import type { ComposeEdit } from '../compose/compose-record.ts';
import type { ComposeQuestion, ComposeState } from '../compose/compose-state.ts';
import type { Digest } from '../image/image-reference.ts';
import type { Platform } from '../image/platform.ts';
import type { ServiceEvent } from '../run/event.ts';
import type { CallOutcome, EngineReader, Swarm, SwarmReader, EngineWriter } from './engine.ts';
import type { VerificationKey } from '../image/signature.ts';
import type { Registry } from './registry.ts';

/**
 * Everything that the service needs from outside, as one plain object. `composition/` builds it, and every use case
 * gets it as its first argument. Tests build another one.
 */
export type Outside = {
  readonly engine: Engine;
  /** Absent where no services are watched. */
  readonly swarm?: Swarm;
  readonly registry: Registry;
  /** Absent: what the engine does not know of an image stays unknown. */
  readonly configs?: ImageConfigs;
  /** Absent: the engine is asked each time. */
  readonly picture?: EnginePicture;
  readonly prober: Prober;
  readonly clock: Clock;
  readonly log: Log;
  readonly instance: Instance;
  /** Name of the engine, if the process works on several. */
  readonly engineName?: string;
  /** How this process reaches its engines at present; absent for engines in memory. */
  readonly routes?: () => OwnRoutes;
  /** In the helper of a door: the engine as it is reached through the door. */
  readonly door?: Pick<EngineReader, 'listContainers'>;
  /**
   * The free bytes of the disk with this folder of the engine's host. Undefined if this process cannot see it; absent
   * for an engine in memory.
   */
  readonly freeBytes?: (folder: string) => Promise<number | undefined>;
  /** Absent with `--compose-files off`. */
  readonly composeFiles?: ComposeFiles;
  /** Absent for an engine in memory. */
  readonly units?: Units;
  /** Signs journals and marks in the engine; absent without a key. */
  readonly seal?: Seal;
  /** Public keys that may sign images. Absent or empty: no image needs a signature, unless a container requires one. */
  readonly verificationKeys?: readonly VerificationKey[];
  /**
   * Aborts when this process has to end within seconds. Containers that still have to prove themselves are then left to
   * the next start. Absent: the process is never stopped so.
   */
  readonly ending?: AbortSignal;
  /** A new unique identifier for a run or transaction: a UUID. */
  readonly newId: () => string;
  /** Publishes an event to all listeners. Never throws and never waits. */
  readonly publish: (event: ServiceEvent) => void;
};

/** Answers of the engine that are still of use. It makes no call. */
export type EnginePicture = {
  /** An image by its id, which names a fixed content. It may have other tags by now, or be removed. */
  readonly image: (id: string) => Image | undefined;
  /** False if a list of the last minute, and every inspection since, has shown no image with this digest. */
  readonly mayHave: (digest: Digest) => boolean;
  /** A container as it was inspected last, if that was since a monotonic time. Bounded. */
  readonly containerSince: (id: string, sinceMs: number) => Container | undefined;
  /** The networks of a list of the last ten seconds. */
  readonly networks: () => readonly Network[] | undefined;
};

/** Configurations that the engine does not know, from the registry. */
export type ImageConfigs = {
  /**
   * The same image if the engine knows its configuration, and shows the one of the manifest. Else with the one of the registry, or with `configFault`. Throws
   * only the signal's reason.
   */
  readonly complete: <Each extends ImageSummary>(image: Each, use: ConfigUse, signal?: AbortSignal) => Promise<Each>;
};

export type ConfigUse = {
  /** The references that it may have in a registry. */
  readonly references: readonly string[];
  /** The manifest of it that a container runs. Undefined: the engine does not show it, or there is no container. */
  readonly manifestDigest: Digest | undefined;
  /** The platform that a container runs. Without a container: the one to choose from an index, which has to be compared. */
  readonly platform?: Platform;
};

export type OwnRoutes = {
  readonly own: EngineRoute;
  readonly others: readonly { readonly engine: string; readonly route: EngineRoute }[];
};

/** `peer` is the IP address that the last connection led to; undefined before the first, and with SSH. */
export type EngineRoute =
  | { readonly kind: 'socket'; readonly path: string }
  | {
      readonly kind: 'tcp' | 'ssh';
      readonly host: string;
      readonly port: number;
      readonly peer: string | undefined;
    };

/** The compose files of containers, which the engine knows by their labels only. */
export type ComposeFiles = {
  /** By the id of the question. Without an entry: not answered in time. */
  readonly compare: (
    questions: readonly ComposeQuestion[],
    signal?: AbortSignal,
  ) => Promise<ReadonlyMap<string, ComposeState>>;
  /** Writes the tag of `to`, if the files say `from` and nothing speaks against it. Absent without `--compose-files write`. */
  readonly write?: (order: ComposeOrder) => Promise<ComposeState>;
};

export type ComposeOrder = {
  /** The id of the record. */
  readonly id: string;
  readonly question: ComposeQuestion;
  /** The references before and after. */
  readonly from: string;
  readonly to: string;
  /** All other projects that containers name. */
  readonly others: readonly ComposeProject[];
  /** A write that may not have come to its end. */
  readonly interrupted?: ComposeEdit;
  /** Awaited right before a file changes. */
  readonly onWriting: (edit: ComposeEdit) => Promise<void>;
};

/** The units of systemd that run containers, beside the engine. Its methods never throw. */
export type Units = {
  readonly read: (name: string) => Promise<UnitReading>;
  /** `ActiveState`: `active`, `activating`, `failed`, …; undefined if systemd does not answer. */
  readonly activeState: (name: string) => Promise<string | undefined>;
  /** Ends when the unit has started again, or has failed to. Its earlier failed starts no longer count. */
  readonly restart: (name: string) => Promise<CallOutcome>;
  /**
   * Gives the file of a unit the tag of `to`, if it names `from`, and makes systemd read it. `noop`: the file names `to`
   * already. `refused`: the file is as it was.
   */
  readonly write: (order: UnitOrder) => Promise<CallOutcome>;
};

export type UnitOrder = Pick<UnitRecord, 'id' | 'file'> & {
  readonly from: string;
  readonly to: string;
  /** An earlier change of the file under the same id, which may not have come to its end. */
  readonly interrupted?: NonNullable<UnitRecord['edit']>;
  /** Awaited right before the file changes. Throws to keep it. */
  readonly onWriting: (edit: NonNullable<UnitRecord['edit']>) => Promise<void>;
};

/** The same for use cases that only read: the type has no changing calls. */
export type ReadOnlyOutside = Omit<Outside, 'engine' | 'swarm'> & {
  readonly engine: EngineReader;
  readonly swarm?: SwarmReader;
};

/** A container engine: reading and changing. */
export type Engine = EngineReader &
  EngineWriter & {
    /** Ends connections and event streams. */
    readonly close: () => Promise<void>;
  };

/** Probes a container at its address. No credentials are sent, and only a status is read. */
export type Prober = {
  /** Throws nothing but the signal's reason. */
  readonly probe: (question: ProbeRequest, signal?: AbortSignal) => Promise<ProbeResult>;
};

export type ProbeRequest = {
  /** An IP address, never a name. */
  readonly address: string;
  readonly port: number;
  /** Path and query of a GET request. Undefined: an accepted connection is enough. */
  readonly path?: string;
  readonly timeoutMs: number;
};

/** `silent`: no answer; `reason` is a clause that explains it. */
export type ProbeResult =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'silent'; readonly reason: string };

export type Clock = {
  /** Wall clock, milliseconds since the epoch: for timestamps, never for deadlines. */
  readonly nowMs: () => number;
  /** Monotonic milliseconds from an arbitrary start: for deadlines and durations. */
  readonly monotonicMs: () => number;
  /** Rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};

export type LogFields = Readonly<Record<string, unknown>>;

/** Messages are sentences without a final period; fields are data. Control characters are escaped by the adapter. */
export type Log = {
  readonly debug: (message: string, fields?: LogFields) => void;
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
};

/** Distinguishes journals of instances with our key from others: HMAC-SHA256 (RFC 2104), in hex. */
export type Seal = {
  readonly sign: (text: string) => string;
  /** In constant time. A shorter seal is compared with as many digits of the expected one, at least 32. */
  readonly verify: (text: string, seal: string) => boolean;
};

/** The identity of this process, by which another instance finds out whether a transaction's owner is alive. */
export type Instance = {
  /** Opaque, stable for the life of the process, at most 200 printable characters. */
  readonly owner: string;
  /** The container that this process runs in; undefined outside of one. It may belong to another engine. */
  readonly containerId: string | undefined;
  /** Whether it is the main process of that container, which a successor of the container starts again. */
  readonly isMainProcess: boolean;
  /** Ids of the transactions under way in this process, on all its engines: one engine may have two names. */
  readonly transactions: Set<string>;
  /** `unknown` when it cannot be found out from here (another host, another kind of owner). */
  readonly ownerState: (owner: string) => 'self' | 'alive' | 'dead' | 'unknown';
};

/** A list of records that outlives the process if it can be stored. Never throws. */
export type RecordStore<Item> = {
  /** All stored records, in the order of their writing. Call it once, before the first `append`. */
  readonly load: () => Promise<readonly Item[]>;
  /** `kept`: synced to the disk, safe against a power cut. `not-kept`: only in memory, and the reason was logged. */
  readonly append: (items: readonly Item[]) => Promise<'kept' | 'not-kept'>;
  /** Resolves when all writes have ended. */
  readonly close: () => Promise<void>;
};

/** The same for records that several processes write. Never throws. */
export type SharedRecords<Item> = Pick<RecordStore<Item>, 'append'> & {
  /**
   * All stored records. The same list is returned while nothing has changed. If they cannot be read, the last result
   * stays.
   */
  readonly read: () => Promise<readonly Item[]>;
  /** Why the last `read` could not read them: `decisions.jsonl: EACCES: permission denied`. */
  readonly fault: () => string | undefined;
};
