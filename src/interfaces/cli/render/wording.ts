import { printable } from '../../../domain/text/printable.ts';
import type { OutcomeKind } from '../../../domain/run/session.ts';
import type { UnfinishedUpdate } from '../../../domain/recovery/unfinished-update.ts';
import type { Staleness } from '../../../domain/check/verdict.ts';
import type { StyleName } from '../terminal/style.ts';

/** Text and colour of a state. */
export type Wording = { readonly text: string; readonly style: StyleName };

export const statusWording: Readonly<Record<Staleness, Wording>> = {
  fresh: { text: 'up to date', style: 'green' },
  stale: { text: 'update available', style: 'yellow' },
  held: { text: 'held back', style: 'cyan' },
  pinned: { text: 'pinned', style: 'grey' },
  local: { text: 'local build', style: 'grey' },
  unknown: { text: 'unknown', style: 'red' },
};

export const outcomeWording: Readonly<Record<OutcomeKind, Wording>> = {
  updated: { text: 'updated', style: 'green' },
  restarted: { text: 'restarted', style: 'green' },
  fresh: { text: 'up to date', style: 'plain' },
  skipped: { text: 'skipped', style: 'grey' },
  deferred: { text: 'deferred', style: 'cyan' },
  unknown: { text: 'unknown', style: 'red' },
  rolled_back: { text: 'rolled back', style: 'red' },
  failed: { text: 'failed', style: 'red' },
};

export const unfinishedWording: Readonly<Record<UnfinishedUpdate['state'], Wording>> = {
  'in progress': { text: 'updating', style: 'cyan' },
  'repair pending': { text: 'repair pending', style: 'red' },
};

/** The wording of a status that came with an event. */
export function wordingOfStatus(status: string): Wording {
  return isStaleness(status) ? statusWording[status] : { text: printable(status, 40), style: 'plain' };
}

/** `12 containers: 2 update available, 9 up to date`: how many of each, in the order of the table of wordings. */
export function countsOf<Kind extends string>(
  kinds: readonly Kind[],
  wordings: Readonly<Record<Kind, Wording>>,
): string {
  const total = kinds.length === 1 ? '1 container' : `${kinds.length} containers`;
  // The keys of a record over the union are the union.
  const parts = (Object.keys(wordings) as Kind[]).flatMap((kind) => {
    const count = kinds.filter((each) => each === kind).length;
    return count === 0 ? [] : [`${count} ${wordings[kind].text}`];
  });
  return parts.length === 0 ? total : `${total}: ${parts.join(', ')}`;
}

function isStaleness(status: string): status is Staleness {
  return Object.hasOwn(statusWording, status);
}
