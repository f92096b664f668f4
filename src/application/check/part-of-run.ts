import type { CheckedContainer } from './checked-container.ts';
import type { SharedUse } from '../async/concurrency.ts';
import type { Registry } from '../../domain/outside/registry.ts';

/** Objects that the engines of a fleet share in one run. */
export type PartOfRun = {
  readonly runId: string;
  /** Answers each question once, so that all engines get the same digest. */
  readonly registry: Registry;
  /** Shared by engines that check and pull; alone while one replaces what may carry their network. */
  readonly network: SharedUse;
  /** Resolves when the other engines of the run have ended. Our own container is replaced after that. */
  readonly beforeSelf: () => Promise<void>;
  /**
   * Holds the newer version of a container back until engines of earlier waves have proven it. Absent: no wave holds it
   * back.
   */
  readonly hold?: HoldForWave;
};

/** Returns the verdict unchanged, or as `held`. `retryFailed`: versions that failed on other engines are not held. */
export type HoldForWave = (checked: CheckedContainer, retryFailed: boolean) => CheckedContainer;

/** An order to one engine, with `part` if it belongs to a run of a fleet. */
export type InRun<Order> = Order & { readonly part?: PartOfRun };
