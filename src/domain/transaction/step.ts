import type { RestartPolicy } from '../container/container-settings.ts';
import type { UpdatePhase } from '../run/session.ts';

export type Decision =
  | { readonly kind: 'step'; readonly step: Step; readonly phase: UpdatePhase }
  | ({ readonly kind: 'rollBack' } & WhyUndone)
  | { readonly kind: 'end'; readonly result: 'committed' | 'undone' }
  /** A necessary step was given up: nothing more is changed until the next start or a person's action. */
  | { readonly kind: 'stuck'; readonly step: Step };

/** Why an update cannot continue and must be undone. */
export type WhyUndone = {
  readonly reason: string;
  /** Another instance or a person prevented it. */
  readonly busy: boolean;
  /** A rehearsal has reached its end. */
  readonly isRehearsed?: boolean;
  /** The tag was moved before the successor was created from it. No other updater needs to be at work. */
  readonly wasTagMoved?: boolean;
};

export type Step = { [K in StepKind]: StepOf<K> }[StepKind];

export type StepOf<K extends StepKind> = { readonly kind: K } & StepArguments[K];

export type StepKind = keyof StepArguments;

export type StepArguments = {
  /** Set or remove the mark of the transaction for one old container. */
  readonly mark: { readonly oldId: string };
  readonly unmark: { readonly oldId: string };
  readonly create: { readonly member: number };
  readonly autoRemoveReplica: { readonly member: number };
  readonly connect: { readonly id: string; readonly networkId: string; readonly member: number };
  /** Copy the placed files of the old container into a new one. */
  readonly copyFiles: { readonly id: string; readonly member: number };
  /** Compare a successor in the engine with the container that it replaces. */
  readonly compare: { readonly id: string; readonly member: number };
  readonly rename: { readonly id: string; readonly to: string };
  /** `afterPause`: the engine does not sync its directories, so a power cut could reorder two writes. */
  readonly policy: { readonly id: string; readonly policy: RestartPolicy; readonly afterPause: boolean };
  readonly stop: { readonly id: string };
  readonly start: { readonly id: string };
  readonly gate: { readonly ids: readonly string[] };
  readonly hook: { readonly id: string; readonly hook: 'preUpdate' | 'postUpdate' };
  /** Watch a running container until no stop request of an earlier process can still end it. */
  readonly waitOutPendingStop: { readonly id: string };
  readonly tag: { readonly imageId: string; readonly reference: string };
  readonly remove: { readonly id: string };
  /** Give an old container the name under which it is kept. */
  readonly keep: { readonly id: string };
  /** Give a container that cannot be removed a name outside of the transaction: see `leftOverName`. */
  readonly leave: { readonly id: string };
};

/** Equal for the same step on the same container. Attempts are counted by it. */
export function stepKey(step: Step): string {
  return JSON.stringify(step);
}
