import type { PermissionName } from '../../src/domain/outside/permission.ts';
import type { EngineWriter } from '../../src/domain/outside/engine-writer.ts';
import type { RestartKind } from '../containers/boot.ts';

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

export type FaultPlan = {
  readonly add: (planned: PlannedFault) => void;
  readonly take: (call: SandboxCall) => Fault | undefined;
  /** Whether every call that needs this permission is forbidden. */
  readonly forbids: (permission: PermissionName) => boolean;
};

export function createFaultPlan(planned: readonly PlannedFault[]): FaultPlan {
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
export const permissionOf: Readonly<Partial<Record<CallKind, PermissionName>>> = {
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
