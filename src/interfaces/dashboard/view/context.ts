import type { Address } from '../state/address.ts';
import type { ContainerStore } from '../state/containers/container-store.ts';
import type { ConnectionState } from '../transport/connection.ts';
import type { Reader, Gap } from '../transport/reader.ts';
import { capitalized, withPeriod } from '../state/words.ts';
import { h, type Child } from './parts/node.ts';

/** The functions and data that every part of the page can use. */
export type PageContext = Pick<
  Reader,
  'readAtMs' | 'isIntercepted' | 'engineError' | 'enginesAway' | 'runs' | 'options' | 'gapOf' | 'notesOf' | 'readNotes'
> & {
  readonly containers: ContainerStore;
  readonly nowMs: () => number;
  readonly address: () => Address;
  /** Changes the address. `asStep` adds a step to the browser's history. */
  readonly go: (change: Partial<Address>, asStep?: boolean) => void;
  readonly link: () => ConnectionState;
  /** Whether a group of endpoints is on. */
  readonly isOn: (group: string) => boolean;
  /** Names of the selected containers. */
  readonly picked: Set<string>;
  readonly act: Actions;
};

/** `retry`: includes versions that failed. `now`: ignores windows. */
export type UpdateKind = 'update' | 'retry' | 'now';

export type Actions = {
  readonly update: (names: readonly string[], kind?: UpdateKind) => void;
  readonly check: (names: readonly string[]) => void;
  readonly rollBack: (name: string) => void;
  readonly approve: (name: string) => void;
  readonly skip: (name: string) => void;
  readonly snooze: (name: string) => void;
  /** Withdraws the decision about the container's new version. */
  readonly withdraw: (name: string) => void;
  readonly pick: (name: string) => void;
  readonly clearPicked: () => void;
  readonly tryNow: () => void;
};

/** Whether the service and its engine answer. */
export function isLive(context: PageContext): boolean {
  return context.link() !== 'offline' && context.engineError() === undefined;
}

/** Whether an update may begin. Only one runs at a time; a repair does not prevent it. */
export function canUpdate(context: PageContext): boolean {
  const { containers } = context;
  return isLive(context) && !containers.isRunning() && !containers.status().running;
}

/** Shown in place of a document that was never read. */
export function gapNodes(what: string, gap: Gap): readonly Child[] {
  if (gap === 'reading') return [h('h2', {}, `Reading ${what}…`)];
  return [h('h2', {}, `Cannot read ${what}`), h('p', {}, withPeriod(capitalized(gap.why)))];
}
