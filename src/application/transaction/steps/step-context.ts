import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../../domain/settings/settings.ts';
import type { HookAnswer } from '../../health/update-hooks.ts';
import type { OpenTransaction } from '../facts/facts.ts';
import type { PreparedTransaction } from '../facts/prepare.ts';

export type StepContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  /** Undefined in a recovery, which creates nothing. */
  readonly prepared: PreparedTransaction | undefined;
  /** An abort; a step that must be finished ignores it. */
  readonly signal?: AbortSignal | undefined;
};

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

export const nothingPrepared: StepOutcome = { kind: 'refused', status: 0, message: 'nothing was prepared for it' };
