/** The facts of a run, of a start and of repairs that messages are made of, and which of them are news. */

import { keysOfRepaired, type RecoveredTransaction, type RemovedImage, type ScanPurpose } from '../run/event.ts';
import { entryKeyOf, type ContainerOutcome, type Trigger } from '../run/session.ts';
import type { Message, MessageLevel, MessageLine, MessageSection } from './message.ts';
import { printable } from '../text/printable.ts';

/** The facts about a run for messages. Times are Unix milliseconds. */
export type RunFacts = {
  readonly runId: string;
  readonly purpose: ScanPurpose;
  readonly trigger: Trigger;
  /** The person or token that has asked for it; absent if nobody has, or the command line. */
  readonly by?: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Why the run as a whole failed; undefined otherwise. */
  readonly error: string | undefined;
  /** The outcome of each container; after a check, only stale containers and those that could not be checked. */
  readonly containers: readonly ContainerOutcome[];
  /** The containers with news, by `entryKeyOf`. */
  readonly news: ReadonlySet<string>;
  /** The events of containers, in order. */
  readonly steps: readonly RunStep[];
  readonly removedImages: readonly (RemovedImage & { readonly atMs: number })[];
  /**
   * The labels of images that containers were updated to, rolled back from, or had before, by image id. Versions and
   * release notes come from them.
   */
  readonly imageLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
};

/** The run with only some of its containers. */
export function partOfRun(facts: RunFacts, isIn: (key: string) => boolean): RunFacts {
  return {
    ...facts,
    containers: facts.containers.filter((one) => isIn(entryKeyOf(one))),
    news: new Set([...facts.news].filter((key) => isIn(key))),
    steps: facts.steps.filter(({ key }) => isIn(key)),
    removedImages: facts.removedImages.filter(({ containerName }) => isIn(containerName)),
  };
}

export type RunStep = {
  readonly kind: 'started' | 'ended';
  /** The container, by `entryKeyOf`. */
  readonly key: string;
  readonly atMs: number;
};

/** The facts of the startup message. */
export type StartFacts = {
  readonly version: string;
  /** Empty if the engine does not answer. */
  readonly engineApiVersion: string;
  readonly services: readonly string[];
  /** Empty: unscoped. */
  readonly scope: string;
  /** The schedule in words, as in the log: `Updates every 24h`. */
  readonly schedule: string;
  /** Unix milliseconds; undefined: nothing is scheduled. */
  readonly nextRunAtMs: number | undefined;
  readonly runOnce: boolean;
  readonly updateOnStart: boolean;
  readonly servesApi: boolean;
  readonly atMs: number;
};

/** The results of earlier updates that were interrupted. */
export type RepairFacts = { readonly transactions: readonly RecoveredTransaction[]; readonly atMs: number };

/** A message without the fields that the sender adds. */
export type Draft = Pick<
  Message,
  'title' | 'text' | 'markdown' | 'isFromTemplate' | 'level' | 'urgency' | 'origin' | 'lines' | 'sections'
>;

/** Writes messages in one style. Undefined: nothing to report at that level. */
export type Composer = {
  readonly start: (facts: StartFacts, least: MessageLevel) => Draft | undefined;
  readonly run: (facts: RunFacts, least: MessageLevel) => Draft | undefined;
  readonly repairs: (facts: RepairFacts, least: MessageLevel) => Draft | undefined;
};

/** A finding that each run repeats until its cause is removed. */
export type Finding = {
  readonly key: string;
  /** The time after which it is reported again, in milliseconds; undefined: never. */
  readonly remindAfterMs: number | undefined;
};

/**
 * The finding to remember after an outcome was reported. Undefined for outcomes that happen once, and for outcomes
 * without news. Later runs find a version that was rolled back again, because they hold it back.
 */
export function findingOf(container: ContainerOutcome): Finding | undefined {
  const { outcome, reason, oldDigest, newDigest, newImageId, oldImageId } = container;
  const which = entryKeyOf(container);
  const newer = newDigest !== '' && newDigest !== oldDigest ? newDigest : newImageId === oldImageId ? '' : newImageId;
  switch (outcome) {
    case 'skipped':
    case 'deferred':
      return {
        key: keyOf('available', which, newer === '' ? withoutNumbers(reason) : newer),
        remindAfterMs: undefined,
      };
    case 'rolled_back':
      return { key: keyOf('available', which, newer), remindAfterMs: 0 };
    case 'failed':
      return { key: keyOf('failed', which, newer, withoutNumbers(reason)), remindAfterMs: dayMs };
    case 'unknown':
      return { key: keyOf('unknown', which, withoutNumbers(reason)), remindAfterMs: 7 * dayMs };
    case 'updated':
    case 'went_back':
    case 'restarted':
    case 'fresh':
      return undefined;
  }
}

/** The finding to remember about an earlier update that is still open. Undefined if it has ended. */
export function findingOfRepair(transaction: RecoveredTransaction): Finding | undefined {
  const { result, reason } = transaction;
  if (result === 'finished' || result === 'undone' || result === 'solved') return undefined;
  return {
    key: keyOf('repair', ...keysOfRepaired(transaction), result, withoutNumbers(reason)),
    remindAfterMs: dayMs,
  };
}

/** The key of the last end of an earlier update: if it was open again since, that is news. */
export function keyOfRepaired(transaction: RecoveredTransaction): string {
  return keyOf('repaired', ...keysOfRepaired(transaction));
}

/** Whether a finding is to be reported, given the time of its last report. */
export function isNews({ remindAfterMs }: Finding, reportedAtMs: number | undefined, nowMs: number): boolean {
  if (reportedAtMs === undefined) return true;
  // A clock that was set back must not suppress a failure.
  return remindAfterMs !== undefined && (nowMs - reportedAtMs >= remindAfterMs || nowMs < reportedAtMs);
}

const dayMs = 86_400_000;

/** Outcomes that are always news. */
export function isAlwaysNews({ outcome }: ContainerOutcome): boolean {
  return outcome === 'updated' || outcome === 'restarted' || outcome === 'rolled_back';
}

function keyOf(...parts: readonly string[]): string {
  return parts.join(' ').slice(0, maxKeyLength);
}

const maxKeyLength = 500;

/** Ports, times and ids differ between failures of the same kind. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/[0-9a-f]*\d[0-9a-f]*/gi, '#');
}

/** `left` only occurs while the update still needs attention. */
export const repairLevels: Readonly<Record<RecoveredTransaction['result'], MessageLevel>> = {
  finished: 'info',
  undone: 'warn',
  left: 'warn',
  failed: 'error',
  // As severe as `left`, so that it reaches its readers.
  solved: 'warn',
};

const verbs: Readonly<Record<RecoveredTransaction['result'], string>> = {
  finished: 'Finished',
  undone: 'Undid',
  left: 'Left alone',
  failed: 'Cannot repair',
  solved: 'Nothing left to repair in',
};

/** `Finished the update of web: the update had been interrupted`. */
export function repairSentence({ containers, kind, result, reason }: RecoveredTransaction): string {
  const names = containers.map((name) => printable(name, 200)).join(', ');
  return `${verbs[result]} the update of ${kind === 'service' ? 'the service ' : ''}${names}${reason === '' ? '' : `: ${printable(reason, 600)}`}`;
}

/** The draft, cut at a line end if it is longer than any service shows. The last line counts the omitted lines. */
export function boundedDraft(draft: Draft): Draft {
  const { text, markdown, lines, title, sections } = draft;
  return {
    ...draft,
    title: beginning(title, maxTitleLength),
    text: cut(text),
    ...(markdown !== undefined && { markdown: cut(markdown) }),
    lines: cutLines(lines),
    ...(sections !== undefined && { sections: cutSections(sections) }),
  };
}

/** In characters: a line each for three hundred containers. The limits of all services are far below. */
const maxTextLength = 50_000;
const maxTitleLength = 500;

function cut(text: string): string {
  if (text.length <= maxTextLength) return text;
  const end = text.lastIndexOf('\n', maxTextLength);
  const kept = end > 0 ? text.slice(0, end) : beginning(text, maxTextLength);
  const missing = text
    .slice(kept.length)
    .split('\n')
    .filter((line) => line.trim() !== '').length;
  return `${kept}\n… and ${missing} more ${missing === 1 ? 'line' : 'lines'}`;
}

/** Never ends within a surrogate pair. */
function beginning(text: string, length: number): string {
  const kept = text.slice(0, length);
  return kept.length < text.length ? kept.replace(/[\ud800-\udbff]$/, '') : text;
}

function cutLines(lines: readonly MessageLine[]): readonly MessageLine[] {
  let size = 0;
  const kept = lines.findIndex(({ text }) => (size += text.length) > maxTextLength);
  const next = lines[kept];
  if (next === undefined) return lines;
  const missing = lines.length - kept;
  return [...lines.slice(0, kept), { ...next, text: `… and ${missing} more ${missing === 1 ? 'line' : 'lines'}` }];
}

function cutSections(sections: readonly MessageSection[]): readonly MessageSection[] {
  let size = 0;
  return sections.map(({ heading, items }) => {
    const kept = items.filter(({ text, markdown }) => {
      const larger = size + text.length + markdown.length;
      if (larger > 2 * maxTextLength) return false;
      size = larger;
      return true;
    });
    const missing = items.length - kept.length;
    const [first] = items;
    if (first === undefined || missing === 0) return { heading, items };
    const text = `… and ${missing} more`;
    return { heading, items: [...kept, { ...first, about: '', text, markdown: text }] };
  });
}

/** An example run with one container for each reported outcome. */
export function exampleRun(endedAtMs: number): RunFacts {
  const containers: readonly ContainerOutcome[] = [
    outcome('web', 'nginx:1.27', 'updated', '', { downtimeMs: 2100 }),
    outcome('db', 'postgres:16', 'fresh', ''),
    outcome('api', 'acme/api:2', 'rolled_back', 'The new version did not become healthy', {
      log: 'starting\nfatal: cannot open /data/app.db\n',
    }),
    outcome('worker', 'acme/worker:2', 'failed', 'The image could not be pulled: no space left on device'),
    outcome(
      'metrics',
      'prom/prometheus:v3',
      'skipped',
      'A newer image of "prom/prometheus:v3" is available; monitored only',
      { from: '3.1.0', to: '3.2.0', sourceUrl: 'https://github.com/prometheus/prometheus' },
    ),
    outcome('tool', 'acme/tool:1', 'unknown', 'The registry denies access'),
  ];
  return factsOf(endedAtMs, containers);
}

/** An example run that found everything up to date. */
export function exampleRunWithoutNews(endedAtMs: number): RunFacts {
  return factsOf(endedAtMs, [outcome('web', 'nginx:1.27', 'fresh', ''), outcome('db', 'postgres:16', 'fresh', '')]);
}

export function exampleStart(atMs: number, version: string): StartFacts {
  return {
    version,
    engineApiVersion: '1.52',
    services: ['discord', 'smtp'],
    scope: '',
    schedule: 'Updates every 24h',
    nextRunAtMs: atMs + 86_400_000,
    runOnce: false,
    updateOnStart: false,
    servesApi: false,
    atMs,
  };
}

function factsOf(endedAtMs: number, containers: readonly ContainerOutcome[]): RunFacts {
  const startedAtMs = endedAtMs - 65_000;
  const moved = containers.filter(({ outcome: kind }) => kind === 'updated' || kind === 'rolled_back');
  return {
    runId: '00000000-0000-4000-8000-000000000000',
    purpose: 'update',
    trigger: 'schedule',
    startedAtMs,
    endedAtMs,
    error: undefined,
    containers,
    news: new Set(containers.flatMap(({ name, outcome: kind }) => (kind === 'fresh' ? [] : [name]))),
    steps: moved.flatMap(({ name: key }) => [
      { kind: 'started', key, atMs: startedAtMs + 5000 } as const,
      { kind: 'ended', key, atMs: startedAtMs + 20_000 } as const,
    ]),
    removedImages: [],
    imageLabels: new Map([
      [
        idOf('web', 'd0a1'),
        {
          'org.opencontainers.image.source': 'https://github.com/nginx/docker-nginx',
          'org.opencontainers.image.version': '1.27.3',
        },
      ],
    ]),
  };
}

function outcome(
  name: string,
  image: string,
  kind: ContainerOutcome['outcome'],
  reason: string,
  parts: Partial<ContainerOutcome> = {},
): ContainerOutcome {
  const oldId = idOf(name, '01d1');
  const newId = kind === 'fresh' || kind === 'unknown' ? oldId : idOf(name, 'd0a1');
  return {
    name,
    containerId: idOf(name, 'c791').slice('sha256:'.length),
    ...(kind === 'updated' && { newContainerId: idOf(name, 'f00b').slice('sha256:'.length) }),
    image,
    outcome: kind,
    reason,
    oldImageId: oldId,
    // A container that is held back has no new image pulled.
    newImageId: kind === 'skipped' ? oldId : newId,
    oldDigest: oldId,
    newDigest: newId,
    ...parts,
  };
}

/** Looks like a real id, and is the same each time. */
function idOf(name: string, begin: string): string {
  const letters = Array.from(name, (letter) => (letter.codePointAt(0) ?? 0).toString(16)).join('');
  return `sha256:${(begin + letters).padEnd(64, '0').slice(0, 64)}`;
}
