import { setMaxListeners } from 'node:events';
import type { CallOutcome, EngineWriter } from '../../src/domain/outside/engine.ts';
import { permissions, type PermissionName } from '../../src/domain/outside/permission.ts';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { Refusal } from '../base/simulation.ts';
import type { World } from '../world/world.ts';
import type { RestartKind } from '../containers/processes.ts';

/** Calls of one caller: numbers the changing ones, and triggers the planned faults. */
export type Calls = {
  /** In the order in which they were made. */
  readonly made: readonly SandboxCall[];
  readonly plan: (fault: PlannedFault) => void;
  readonly forbids: FaultPlan['forbids'];
  /** Kills the caller: every call from now on throws `SandboxCrash` and has no effect. */
  readonly crash: () => void;
  readonly isDead: () => boolean;
  /** Aborts with the caller's death, which breaks its streams. */
  readonly death: AbortSignal;
  /** Runs a changing call. Resolves to its outcome, or to `unknown` if the answer is lost. */
  readonly change: <T extends object>(
    call: Omit<SandboxCall, 'number'>,
    effect: () => T | Promise<T>,
  ) => Promise<T | Failed>;
  /** Runs a reading call. */
  readonly read: <T>(effect: () => T | Promise<T>) => Promise<T>;
  /** The caller closes its connections; calls in flight have an unknown outcome, and the engine finishes them. */
  readonly close: () => void;
};

type Failed = Extract<CallOutcome, { kind: 'refused' | 'unknown' }>;

type CallsOptions = {
  readonly world: World;
  readonly restart: (kind: RestartKind) => Promise<void>;
  readonly faults: readonly PlannedFault[];
  readonly latencyMs: (kind: CallKind) => number;
};

export function createCalls({ world, restart, faults, latencyMs }: CallsOptions): Calls {
  const made: SandboxCall[] = [];
  const plan = createFaultPlan(faults);
  const closed = new AbortController();
  const death = new AbortController();

  function checkAlive(): void {
    if (death.signal.aborted) throw new SandboxCrash('the process of this caller has been killed');
  }

  function crash(): never {
    death.abort();
    throw new SandboxCrash('the process of this caller has been killed');
  }

  async function change<T extends object>(
    what: Omit<SandboxCall, 'number'>,
    effect: () => T | Promise<T>,
  ): Promise<T | Failed> {
    checkAlive();
    const call = { number: made.length + 1, ...what };
    made.push(call);
    const fault = plan.take(call);
    const early = await before(fault, call.kind);
    if (early !== undefined) return early;
    const delayMs = latencyMs(call.kind) + (fault?.kind === 'slow' ? fault.ms : 0);
    if (delayMs > 0) await world.clock.sleep(delayMs);
    checkAlive();
    if (!world.condition.up || closed.signal.aborted) return notSent;
    if (fault?.kind === 'send-twice') await answerOf(effect);
    const running = answerOf(effect);
    // A killed caller never gets the answer.
    running.catch(() => undefined);
    if (fault?.kind === 'crash' && fault.when === 'during') crash();
    const answer = await orLost(
      running,
      fault?.kind === 'engine-restart' && fault.when === 'during' ? fault.how : undefined,
    );
    return after(fault, answer);
  }

  async function before(fault: Fault | undefined, kind: CallKind): Promise<Failed | undefined> {
    if (fault === undefined) return undefined;
    if (fault.kind === 'refuse')
      return { kind: 'refused', status: fault.status, message: fault.message ?? 'injected fault' };
    if (fault.kind === 'forbid') return forbidden(kind);
    if (fault.kind === 'lose-request') return unknownOutcome;
    if (!('when' in fault) || fault.when !== 'before') return undefined;
    if (fault.kind === 'crash') crash();
    if (fault.kind === 'third-party') await fault.act();
    if (fault.kind === 'engine-restart') {
      await restart(fault.how);
      return unknownOutcome;
    }
    return undefined;
  }

  async function after<T extends object>(fault: Fault | undefined, answer: T | Failed): Promise<T | Failed> {
    if (fault?.kind === 'lose-answer') return unknownOutcome;
    if (fault === undefined || !('when' in fault) || fault.when !== 'after') return answer;
    if (fault.kind === 'crash') crash();
    if (fault.kind === 'third-party') await fault.act();
    // The answer was sent before the restart.
    if (fault.kind === 'engine-restart') void restart(fault.how);
    return answer;
  }

  /** The answer, or `unknown` if the engine or the connection ends first. */
  async function orLost<T extends object>(
    running: Promise<T | Failed>,
    restartHow: RestartKind | undefined,
  ): Promise<T | Failed> {
    const { connection } = world.condition;
    const signals = [connection.signal, closed.signal];
    let lose = () => {};
    const lost = new Promise<Failed>((resolve) => (lose = () => resolve(unknownOutcome)));
    if (signals.some(({ aborted }) => aborted)) lose();
    // One listener per call under way: more than Node's limit of ten is not a leak.
    setMaxListeners(0, ...signals);
    for (const signal of signals) signal.addEventListener('abort', lose);
    try {
      if (restartHow !== undefined) await restart(restartHow);
      const answer = await Promise.race([lost, running]);
      checkAlive();
      return answer;
    } finally {
      // The signals of a connection live for days, so each call removes its listeners.
      for (const signal of signals) signal.removeEventListener('abort', lose);
    }
  }

  async function read<T>(effect: () => T | Promise<T>): Promise<T> {
    checkAlive();
    if (!world.condition.up || closed.signal.aborted) throw unreachable();
    try {
      return await effect();
    } catch (error) {
      throw error instanceof Refusal ? refusedRead(error) : error;
    } finally {
      checkAlive();
    }
  }

  return {
    made,
    plan: plan.add,
    forbids: plan.forbids,
    crash: () => death.abort(),
    isDead: () => death.signal.aborted,
    death: death.signal,
    change,
    read,
    close: () => closed.abort(),
  };
}

/** The request did not reach the engine, so nothing has changed. */
const notSent = { kind: 'refused', status: 503, message: 'connection refused' } as const;

function forbidden(kind: CallKind): Failed {
  const permission = permissionOf[kind];
  const call = permission === undefined ? 'it' : permissions[permission].call;
  const message = `a proxy before the engine forbids ${call} (403)`;
  return { kind: 'refused', status: 403, message, isForbidden: true };
}

const unknownOutcome = { kind: 'unknown', message: 'the connection was lost before the answer came' } as const;

function unreachable(): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot reach the sandbox engine: connection refused');
}

function refusedRead({ status, message }: Refusal): ServiceError {
  return new ServiceError('engine-refused', `Cannot read from the engine: it answered ${status}, "${message}"`);
}

async function answerOf<T extends object>(effect: () => T | Promise<T>): Promise<T | Failed> {
  try {
    return await effect();
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', status: error.status, message: error.message };
    throw error;
  }
}

/** The changing calls of an engine or a swarm, by the names of their methods. */
export type CallKind =
  | Exclude<keyof EngineWriter, 'probeHealth' | 'waitUntilStopped'>
  | 'changeService'
  | 'revertService'
  | 'noteFailure'
  | 'forgetFailure';

export type SandboxCall = {
  /** Counts from 1 for each connection. */
  readonly number: number;
  readonly kind: CallKind;
  /** Name of the call's object at that time, or the reference of an image. */
  readonly target: string;
  /** Second argument of the call: a new name, a policy, an image. */
  readonly detail: string;
};

/** A fault of one call, with its cause in the real world. */
export type Fault =
  /** The engine answers with an error, and nothing has changed. */
  | { readonly kind: 'refuse'; readonly status: number; readonly message?: string }
  /** A proxy before the engine forbids the call. With `every` it also answers the question about forbidden calls. */
  | { readonly kind: 'forbid' }
  /** The connection breaks before the request reaches the engine. */
  | { readonly kind: 'lose-request' }
  /** The connection breaks after the change. */
  | { readonly kind: 'lose-answer' }
  /** A program between us and the engine sends the request twice; the answer is the second one. */
  | { readonly kind: 'send-twice' }
  /** A loaded machine. */
  | { readonly kind: 'slow'; readonly ms: number }
  /**
   * Our process is killed: none of its later calls reaches the engine. `during`: the engine completes the current call.
   */
  | { readonly kind: 'crash'; readonly when: 'before' | 'during' | 'after' }
  /** The engine or the host is restarted. */
  | { readonly kind: 'engine-restart'; readonly how: RestartKind; readonly when: 'before' | 'during' | 'after' }
  /** A person, compose or another updater acts at this moment. */
  | { readonly kind: 'third-party'; readonly when: 'before' | 'after'; readonly act: () => void | Promise<void> };

/** The first call that matches has the fault; with `every`, each one that matches. */
export type PlannedFault = {
  /** A call's number, its kind, or a predicate. */
  readonly at: number | CallKind | ((call: SandboxCall) => boolean);
  readonly fault: Fault;
  readonly every?: boolean;
};

type FaultPlan = {
  readonly add: (planned: PlannedFault) => void;
  readonly take: (call: SandboxCall) => Fault | undefined;
  /** Whether every call that needs this permission is forbidden. */
  readonly forbids: (permission: PermissionName) => boolean;
};

function createFaultPlan(planned: readonly PlannedFault[]): FaultPlan {
  const waiting = [...planned];
  return {
    add: (fault) => void waiting.push(fault),
    take: (call) => {
      const index = waiting.findIndex(({ at }) => matches(at, call));
      const found = waiting[index];
      if (found !== undefined && found.every !== true) waiting.splice(index, 1);
      return found?.fault;
    },
    forbids: (permission) =>
      waiting.some(
        ({ at, fault, every }) =>
          fault.kind === 'forbid' &&
          every === true &&
          callKinds.some(
            (kind) => permissionOf[kind] === permission && matches(at, { number: 0, kind, target: '', detail: '' }),
          ),
      ),
  };
}

/** The permission that a changing call needs. */
const permissionOf: Readonly<Partial<Record<CallKind, PermissionName>>> = {
  pullImage: 'pull',
  tagImage: 'tag',
  createContainer: 'create',
  connectNetwork: 'connect',
  renameContainer: 'rename',
  updateRestartPolicy: 'policy',
  stopContainer: 'stop',
  startContainer: 'start',
  removeContainer: 'remove',
  removeImage: 'untag',
};

const callKinds = Object.keys(permissionOf) as readonly CallKind[];

/** Thrown by every call of a killed process, because the calling code no longer exists. */
export class SandboxCrash extends Error {
  override readonly name = 'SandboxCrash';
}

function matches(at: PlannedFault['at'], call: SandboxCall): boolean {
  if (typeof at === 'function') return at(call);
  return at === call.number || at === call.kind;
}
