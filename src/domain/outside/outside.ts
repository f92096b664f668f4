import type { ServiceEvent } from '../run/event.ts';
import type { EngineReader } from './engine-reader.ts';
import type { Engine } from './engine.ts';
import type { Prober } from './prober.ts';
import type { VerificationKey } from '../signature/signature.ts';
import type { Registry } from './registry.ts';
import type { Swarm, SwarmReader } from './swarm.ts';

/**
 * All that the service needs from the world, as one plain object: built in `composition/`, handed to
 * every use case as its first argument. A test builds another.
 */
export type Outside = {
  readonly engine: Engine;
  /** Absent where services are of no concern. */
  readonly swarm?: Swarm;
  readonly registry: Registry;
  readonly prober: Prober;
  readonly clock: Clock;
  readonly log: Log;
  readonly instance: Instance;
  /** Name of the engine, where the process works on several. */
  readonly engineName?: string;
  /** Signs the journals and marks in the engine; absent without a key. */
  readonly seal?: Seal;
  /** Public keys that may sign images; absent or empty: no image needs a signature, unless a container asks for one. */
  readonly verificationKeys?: readonly VerificationKey[];
  /** A fresh identifier that no run and no transaction has had: a UUID. */
  readonly newId: () => string;
  /** Announces an event to whoever listens; never throws and never waits. */
  readonly publish: (event: ServiceEvent) => void;
};

/** The same, for use cases that change nothing in the engine: the types keep them from it. */
export type ReadOnlyOutside = Omit<Outside, 'engine' | 'swarm'> & {
  readonly engine: EngineReader;
  readonly swarm?: SwarmReader;
};

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

/** Tells journals of instances with our key from what others have written: HMAC-SHA256 (RFC 2104), in hex. */
export type Seal = {
  readonly sign: (text: string) => string;
  /** In constant time. A shorter seal is compared with as many digits of the right one, 32 at least. */
  readonly verify: (text: string, seal: string) => boolean;
};

/** The identity of this process: another instance tells by it whether a transaction's owner still lives. */
export type Instance = {
  /** Opaque, stable for the life of the process, at most 200 printable characters. */
  readonly owner: string;
  /** Of the container that this process runs in; undefined outside of one. The engine in use need not know it. */
  readonly containerId: string | undefined;
  /** Whether it is what that container is there for: a successor of the container begins it anew. */
  readonly isMainProcess: boolean;
  /** `unknown` when it cannot be told from here (another host, another kind of owner). */
  readonly ownerState: (owner: string) => 'self' | 'alive' | 'dead' | 'unknown';
};
