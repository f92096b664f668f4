import type { CallOutcome } from '../../outside/engine-writer.ts';

/** A step's outcome; `fault` tells a new version that failed from an engine that refused. */
export type StepOutcome =
  | CallOutcome
  | {
      readonly kind: 'fault';
      readonly id: string;
      readonly message: string;
      /** Whether it was up when this process first looked; if not, an engine that was restarted may have ended it. */
      readonly wasSeenWell: boolean;
    }
  | HookAnswer;

export type HookAnswer =
  | { readonly kind: 'done' }
  /** The container is gone. */
  | { readonly kind: 'noop' }
  /** The old container does not want to be replaced, or (`deferred`) not now. */
  | { readonly kind: 'declined'; readonly message: string; readonly deferred: boolean }
  /** It failed in the new container, which comes too late to matter. */
  | { readonly kind: 'warned'; readonly message: string };
