import { formatDuration, printTime } from '../../../domain/text/duration.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { TaskProgress } from '../../../domain/container/swarm-service.ts';
import { words } from '../../../domain/text/words.ts';
import type { ContainerOutcome, OutcomeKind } from '../../../domain/run/session.ts';
import type { Staleness } from '../../../domain/check/verdict.ts';
import type { StyleName, Cell } from '../terminal/style.ts';

/** Text and colour of a state. The tables begin with the states that need attention, and lists follow their order. */
export type Wording = { readonly text: string; readonly style: StyleName };

export const statusWording = inColours(words.verdict, {
  unknown: 'red',
  stale: 'yellow',
  held: 'cyan',
  pinned: 'grey',
  local: 'grey',
  fresh: 'green',
});

export const outcomeWording = inColours(words.outcome, {
  failed: 'red',
  rolled_back: 'red',
  unknown: 'red',
  deferred: 'cyan',
  updated: 'green',
  went_back: 'green',
  restarted: 'green',
  skipped: 'grey',
  fresh: 'plain',
});

export const unfinishedWording = inColours(words.unfinished, { 'repair pending': 'red', 'in progress': 'cyan' });

function inColours<Kind extends string>(
  words: Readonly<Record<Kind, string>>,
  styles: Readonly<Record<Kind, StyleName>>,
): Readonly<Record<Kind, Wording>> {
  const wordings = Object.entries<string>(words).map(([kind, text]) => [kind, { text, style: styles[kind as Kind] }]);
  return Object.fromEntries(wordings) as Readonly<Record<Kind, Wording>>;
}

type Waiting = {
  readonly hold?: string | undefined;
  readonly eligibleAtMs?: number | undefined;
  /** The one that runs. */
  readonly version?: string | undefined;
};

/** The wording of a check, with the kind of reason where there is one. */
export function wordingOfCheck(status: Staleness, { hold, eligibleAtMs, version = '' }: Waiting): Wording {
  const text = words.waits(status, hold, printable(version, 40));
  const opens = hold === 'window' && eligibleAtMs !== undefined ? ` ${printTime(eligibleAtMs)}` : '';
  return { text: text + opens, style: statusWording[status].style };
}

/** The result of a container in a run: with the word of `upkeep check` if the run had no reason to change it. */
export function wordOf({ outcome, verdict }: RunResult): RunWord {
  if (outcome === 'skipped' || outcome === 'deferred') return verdict === 'held' ? 'held' : outcome;
  return outcome === 'fresh' && (verdict === 'pinned' || verdict === 'local') ? verdict : outcome;
}

/** The same with the version that the container is back on, if it is known: `failed; back on 1.32.5`. */
export function sayResult({ from = '', to = '', hold, ...result }: RunResult & Versions & Waiting): Wording {
  const word = wordOf(result);
  if (word === 'held' || word === 'unknown') return wordingOfCheck(word, { hold, version: from });
  const { text, style } = runWording[word];
  const versions = { from: printable(from, 40), to: printable(to, 40) };
  return { text: word === result.outcome ? words.result(result.outcome, versions) : text, style };
}

type RunResult = { readonly outcome: OutcomeKind; readonly verdict?: string | undefined };

const { fresh, ...changed } = outcomeWording;

/** The wordings of a run, in the order of its table. */
export const runWording = {
  ...changed,
  held: statusWording.held,
  pinned: statusWording.pinned,
  local: statusWording.local,
  fresh,
} as const satisfies Readonly<Record<string, Wording>>;

type RunWord = keyof typeof runWording;

/** The wording of a status in an event. */
export function wordingOfStatus(status: string, waiting: Waiting = {}): Wording {
  return isStaleness(status) ? wordingOfCheck(status, waiting) : { text: printable(status, 40), style: 'plain' };
}

/** The wording of an outcome in an answer of a service. */
export function wordingOfOutcome({
  outcome,
  ...result
}: { readonly outcome: string } & Omit<RunResult, 'outcome'> & Versions & Waiting): Wording {
  if (!isOutcome(outcome)) return { text: printable(outcome, 40), style: 'plain' };
  return sayResult({ outcome, ...result });
}

/** Sorts items by a table of wordings. Items of one kind keep their order. */
export function maxUrgentFirst<Item, Kind extends string>(
  items: readonly Item[],
  wordings: Readonly<Record<Kind, Wording>>,
  kindOf: (item: Item) => Kind,
): readonly Item[] {
  const order: readonly string[] = Object.keys(wordings);
  return items.toSorted((one, other) => order.indexOf(kindOf(one)) - order.indexOf(kindOf(other)));
}

/** The word for the begin of an update, or of a rollback on request. */
export function startWord(isRollback = false): string {
  return isRollback ? 'rolling back' : 'updating';
}

/** `1 container`, `2 containers` */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `12 containers: 2 updates ready, 10 up to date`: the count of each kind, in the order of the table. */
export function countsOf<Kind extends string>(
  kinds: readonly Kind[],
  wordings: Readonly<Record<Kind, Wording>>,
): string {
  const total = countOf(kinds.length, 'container');
  // The keys of the record are the union's members.
  const parts = (Object.keys(wordings) as Kind[]).flatMap((kind) => {
    const count = kinds.filter((each) => each === kind).length;
    return count === 0 ? [] : [words.counted(count, wordings[kind].text)];
  });
  return parts.length === 0 ? total : `${total}: ${parts.join(', ')}`;
}

export function isStaleness(status: string): status is Staleness {
  return Object.hasOwn(statusWording, status);
}

function isOutcome(outcome: string): outcome is OutcomeKind {
  return Object.hasOwn(outcomeWording, outcome);
}

/** `2 of 4 tasks`. */
export function formatTasks({ running, wanted }: TaskProgress): string {
  return `${running} of ${countOf(wanted, 'task')}`;
}

/** `down for 6.6s, 3s of it stopping, 2.4s copying data`; empty if nothing was stopped. A quick stop is not worth a word. */
export function formatDowntime({ downtimeMs, stoppingMs = 0, data, phases }: DownTimes): string {
  if (downtimeMs === undefined) return '';
  const isSlowStop = stoppingMs >= minToldStopMs;
  const copyingMs = data === undefined ? undefined : phases?.['saving data'];
  const parts = [
    ...(isSlowStop ? [`${rounded(stoppingMs)} of it stopping`] : []),
    ...(copyingMs === undefined ? [] : [`${rounded(copyingMs)} ${isSlowStop ? '' : 'of it '}copying data`]),
  ];
  return [`down for ${rounded(downtimeMs)}`, ...parts].join(', ');
}

const minToldStopMs = 100;

function rounded(ms: number): string {
  return formatDuration(ms, 'rounded');
}

type DownTimes = Pick<ContainerOutcome, 'downtimeMs' | 'stoppingMs' | 'data' | 'phases'>;

/** `exited with code 1` in the row of the container; the name comes last if another container of its group failed. */
export function causeFirst(reason: string, name: string): string {
  const [, failed = '', cause = '', rest = ''] =
    /^the new version of "([^"]+)" failed: (?:it )?([^;]+)(.*)$/s.exec(reason) ?? [];
  if (cause === '') return reason;
  return failed === name ? `${cause}${rest}` : `${cause}: the new version of "${failed}"${rest}`;
}

/** Versions of an image for display. A reply may lack both. */
export type Versions = { readonly from?: string | undefined; readonly to?: string | undefined };

/** `1.27.3 → 1.27.4`, or the only known version. */
export function versionCell({ from = '', to = '' }: Versions): Cell {
  const isChange = from !== '' && to !== '' && from !== to;
  const text = isChange ? `${shown(from)} → ${shown(to)}` : shown(from || to);
  return { text, style: isChange ? 'bold' : 'plain' };
}

/** `nginx:1.27 → 1.28` if the newer image has another tag, else the reference. */
export function imageChange(image: string, candidate: string | undefined): string {
  const tag = candidate === image ? undefined : /:([^:/@]+)$/.exec(candidate ?? '')?.[1];
  return tag === undefined ? image : `${image} → ${tag}`;
}

/** The age of a new version in its largest unit: `2d ago`; empty if unknown. */
export function ageCell(releasedAtMs: number | undefined, nowMs: number): Cell {
  if (releasedAtMs === undefined || releasedAtMs > nowMs) return { text: '', style: 'plain' };
  return { text: `${formatDuration(nowMs - releasedAtMs, 'one unit')} ago`, style: 'grey' };
}

function shown(version: string): string {
  return printable(version, maxVersion);
}

const maxVersion = 40;
