import type { CheckedContainer } from './checked-container.ts';
import type { Registry } from '../../domain/outside/registry.ts';

/** What the engines of a fleet share in one run. */
export type PartOfRun = {
  readonly runId: string;
  /** Answers each question once, so that all engines get the same digest. */
  readonly registry: Registry;
  /** Waited for before our own container is replaced: the other engines of the run have ended then. */
  readonly beforeSelf: () => Promise<void>;
  /** Holds the newer version of a container back until the engines before it have proven it; absent: nothing waits. */
  readonly hold?: HoldChecked;
};

/** The verdict itself, or one that is held. */
export type HoldChecked = (checked: CheckedContainer) => CheckedContainer;

/** An order to one engine; with a part where the run is that of a fleet. */
export type InRun<Order> = Order & { readonly part?: PartOfRun };
