import type { Address } from '../state/address.ts';
import type { ShownOption } from '../state/documents/configuration.ts';
import type { EngineAway } from '../state/documents/engines.ts';
import type { PastRun } from '../state/documents/history.ts';
import type { Fleet } from '../state/fleet/fleet.ts';
import type { LinkState } from '../state/link-state.ts';

/** What every part of the page may ask for and do. */
export type PageContext = {
  readonly fleet: Fleet;
  readonly nowMs: () => number;
  readonly address: () => Address;
  /** Changes the address; `asStep` makes it a step that the browser's Back undoes. */
  readonly go: (change: Partial<Address>, asStep?: boolean) => void;
  readonly link: () => LinkState;
  /** When the data was read last. */
  readonly readAtMs: () => number;
  /** Why the engine does not answer; undefined while it does. */
  readonly engineError: () => string | undefined;
  /** Of several engines, those that do not answer. */
  readonly enginesAway: () => readonly EngineAway[];
  /** Whether a group of endpoints is on. */
  readonly isOn: (group: string) => boolean;
  readonly runs: () => readonly PastRun[];
  readonly options: () => readonly ShownOption[];
  /** Names of the selected containers. */
  readonly picked: Set<string>;
  readonly act: Acts;
};

/** `retry`: a version that failed, too. `now`: outside of the windows, too. */
export type UpdateKind = 'update' | 'retry' | 'now';

export type Acts = {
  readonly update: (names: readonly string[], kind?: UpdateKind) => void;
  readonly check: (names: readonly string[]) => void;
  readonly rollBack: (name: string) => void;
  readonly approve: (name: string) => void;
  readonly skip: (name: string) => void;
  readonly snooze: (name: string) => void;
  /** Takes the decision about the container's new version back. */
  readonly withdraw: (name: string) => void;
  readonly pick: (name: string) => void;
  readonly clearPicked: () => void;
  readonly tryNow: () => void;
};

/** Whether the service and its engine answer. */
export function isLive(context: PageContext): boolean {
  return context.link() !== 'offline' && context.engineError() === undefined;
}

/** Whether an update may be begun now: one runs at a time. */
export function canUpdate(context: PageContext): boolean {
  const { fleet } = context;
  return isLive(context) && !fleet.isRunning() && !fleet.status().running && !fleet.status().repairing;
}
