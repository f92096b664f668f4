import type { CallOutcome } from '../../outside/engine.ts';

/** A step's outcome. `fault` means that a new version failed, not that the engine refused. */
export type StepOutcome =
  | CallOutcome
  | {
      readonly kind: 'fault';
      readonly id: string;
      readonly message: string;
      /** Whether it was up at the first inspection. If not, a restarted engine may have ended it. */
      readonly wasSeenWell: boolean;
    }
  | HookAnswer;

export type HookAnswer =
  | { readonly kind: 'done' }
  /** The container does not exist. */
  | { readonly kind: 'noop' }
  /** The old container refuses to be replaced, or (`deferred`) refuses it now. */
  | { readonly kind: 'declined'; readonly message: string; readonly deferred: boolean }
  /** The hook failed in the new container. The update continues. */
  | { readonly kind: 'warned'; readonly message: string };
