import { keysOfRepaired, type RecoveredTransaction } from '../../run/event.ts';
import { type ContainerOutcome, entryKeyOf, type OutcomeKind } from '../../run/session.ts';
import { printable } from '../../text/printable.ts';
import type { Urgency } from '../message.ts';
import type { RunFacts } from '../run-facts.ts';

/** `hostname`, `titleTag`: empty for none. */
export type HeadlineOptions = {
  readonly hostname: string;
  readonly titleTag: string;
  readonly skipTitle: boolean;
};

/** The begin of a title, before its outcome: `[home] nas`. Empty without titles. */
export function originOf({ hostname, titleTag, skipTitle }: HeadlineOptions): string {
  if (skipTitle) return '';
  return `${titleTag === '' ? '' : `[${titleTag}] `}${hostname === '' ? 'Upkeep' : hostname}`;
}

/** `nas: web failed and was rolled back, 2 were updated`: the outcome first, because lists of messages show titles only. */
export function titled(origin: string, words: string): string {
  return origin === '' ? '' : `${origin}: ${words}`;
}

/** The outcomes with news in words, the worst first. */
export function outcomeWords({ containers, news, error }: RunFacts): string {
  if (error !== undefined) return 'the run failed';
  return wordsOf(
    containers.filter((one) => news.has(entryKeyOf(one))).map((one) => [kindOf(one), nameOf(one)]),
    outcomes,
  );
}

/** The results of a repair in words, the worst first. */
export function repairWords(transactions: readonly RecoveredTransaction[]): string {
  return wordsOf(
    transactions.map((one) => [one.result, `the update of ${keysOfRepaired(one).map(shortName).join(' and ')}`]),
    repairs,
    1,
  );
}

/** A failure is urgent. An update that only waits is not. */
export function urgencyOf({ containers, news, error }: RunFacts): Urgency | undefined {
  const kinds = containers.filter((one) => news.has(entryKeyOf(one))).map(({ outcome }) => outcome);
  if (error !== undefined || kinds.some((kind) => kind === 'failed' || kind === 'rolled_back')) return 'high';
  return kinds.every((kind) => kind === 'skipped' || kind === 'deferred' || kind === 'fresh') ? 'low' : undefined;
}

/** The verb for one subject, and for several. */
type Verbs = readonly [one: string, several: string];

export type Kind = OutcomeKind | 'available';

/** In the order of a title. */
const outcomes: Readonly<Record<Kind, Verbs>> = {
  rolled_back: ['failed and was rolled back', 'failed and were rolled back'],
  failed: ['failed', 'failed'],
  unknown: ['could not be checked', 'could not be checked'],
  updated: ['was updated', 'were updated'],
  went_back: ['went back', 'went back'],
  restarted: ['was restarted', 'were restarted'],
  available: ['has an update', 'have updates'],
  deferred: ['waits', 'wait'],
  skipped: ['was not updated', 'were not updated'],
  fresh: ['is up to date', 'are up to date'],
};

const repairs: Readonly<Record<RecoveredTransaction['result'], Verbs>> = {
  failed: ['cannot be repaired', 'updates cannot be repaired'],
  left: ['was left alone', 'updates were left alone'],
  undone: ['was undone', 'updates were undone'],
  finished: ['was finished', 'updates were finished'],
  solved: ['needs no repair any more', 'updates need no repair any more'],
};

/** The outcome, or `available` for a container that only has an update. */
export function kindOf({ outcome, from, to }: ContainerOutcome): Kind {
  return outcome === 'skipped' && to !== undefined && to !== from ? 'available' : outcome;
}

function nameOf(container: ContainerOutcome): string {
  return shortName(entryKeyOf(container));
}

function shortName(name: string): string {
  return printable(name, 60);
}

/** A few subjects are named, more are counted. */
function wordsOf<Found extends string>(
  all: readonly (readonly [Found, string])[],
  verbs: Readonly<Record<Found, Verbs>>,
  maxNamed = 2,
): string {
  const parts = Object.entries<Verbs>(verbs).flatMap(([kind, [one, several]]) => {
    const names = all.flatMap(([found, name]) => (found === kind ? [name] : []));
    if (names.length === 0) return [];
    if (names.length === 1) return [`${names.join('')} ${one}`];
    return [`${names.length <= maxNamed ? names.join(' and ') : names.length} ${several}`];
  });
  return parts.length === 0 ? 'nothing new' : parts.slice(0, maxParts).join(', ');
}

/** More do not fit into the list of messages on a phone. */
const maxParts = 3;
