import { words } from '../text/words.ts';
import { formatDuration } from '../text/duration.ts';
import { printable } from '../text/printable.ts';
import {
  mostSevereLevel,
  isAtLeast,
  type MessageLevel,
  type MessageLine,
  type Urgency,
  type Heading,
  type MessageSection,
} from './message.ts';
import {
  repairLevels,
  repairSentence,
  type Composer,
  type Draft,
  type RunFacts,
  type StartFacts,
  type RepairFacts,
} from './run-facts.ts';
import { formatMoment, Moment } from './template/time.ts';
import { keysOfRepaired, type RecoveredTransaction } from '../run/event.ts';
import { entryKeyOf, type ContainerOutcome, type OutcomeKind } from '../run/session.ts';
import { familiarReference, tryParseImageReference } from '../image/image-reference.ts';
import { linksOf } from '../image/image-source.ts';
import { versionOf } from '../image/labels.ts';
import { telltaleLines } from '../text/hidden-secrets.ts';
import { shortId } from '../container/container.ts';

/** `timeZone`: the IANA name of the time zone in messages. */
type UpkeepTextOptions = HeadlineOptions & { readonly timeZone: string };

/**
 * One message per run: failures that need attention, rollbacks with their reason, updates with their rollback command.
 */
export function createUpkeepComposer(options: UpkeepTextOptions): Composer {
  const origin = originOf(options);
  return {
    start: (facts, least) => (isAtLeast('info', least) ? startDraft(facts, origin, options.timeZone) : undefined),
    run(facts, least) {
      const sections = atLeast(sectionsOf(facts, options.timeZone), least);
      if (sections.length === 0 && facts.error === undefined) return undefined;
      return runDraft(facts, sections, { ...options, origin });
    },
    repairs: (facts, least) => repairDraft(facts, { ...options, origin }, least),
  };
}

function startDraft({ version, schedule, nextRunAtMs, atMs }: StartFacts, origin: string, timeZone: string): Draft {
  const next =
    nextRunAtMs === undefined
      ? ''
      : `. Next run: ${formatMoment(new Moment(nextRunAtMs, timeZone), '2006-01-02 15:04 MST')}`;
  const text = `Upkeep ${printable(version, 60)} has started. ${printable(schedule, 300)}${next}`;
  const markdown = escapeMarkdown(text);
  const item = { about: 'start', level: 'info', text: `- ${text}`, markdown: `- ${markdown}`, atMs } as const;
  return {
    title: titled(origin, 'Upkeep has started'),
    origin,
    text,
    markdown,
    level: 'info',
    lines: [{ level: 'info', text, atMs }],
    sections: [{ heading: 'Started', items: [item] }],
  };
}

function atLeast(sections: readonly Section[], least: MessageLevel): readonly Section[] {
  return sections.flatMap(({ heading, paragraphs }) => {
    const kept = paragraphs.filter(({ level }) => isAtLeast(level, least));
    return kept.length === 0 ? [] : [{ heading, paragraphs: kept }];
  });
}

function runDraft(
  facts: RunFacts,
  sections: readonly Section[],
  { origin, timeZone }: { readonly origin: string; readonly timeZone: string },
): Draft {
  const error =
    facts.error === undefined ? undefined : `The run failed: ${inLocalTime(printable(facts.error, 1000), timeZone)}`;
  // Of outcomes below the level, the title says nothing.
  const shown = new Set(sections.flatMap(({ paragraphs }) => paragraphs.map(({ about }) => about)));
  const told = { ...facts, news: new Set([...facts.news].filter((key) => shown.has(key))) };
  const urgency = urgencyOf(told);
  const summary = error ?? summaryOf(facts);
  const atMs = facts.endedAtMs;
  const first: MessageLine = { level: error === undefined ? 'info' : 'error', text: summary, atMs };
  const lines = sections.flatMap(({ paragraphs }) =>
    paragraphs.map((one): MessageLine => ({ level: one.level, text: plainParagraph(one).join('\n'), atMs })),
  );
  const when = formatMoment(new Moment(atMs, timeZone), 'Mon 2 Jan 15:04 MST');
  return {
    title: titled(origin, outcomeWords(told)),
    origin,
    ...(urgency && { urgency }),
    text: [summary, ...sections.flatMap(plainSection)].join('\n'),
    markdown: [escapeMarkdown(summary), ...sections.flatMap(markdownSection)].join('\n'),
    level: mostSevereLevel([first, ...lines]),
    lines: [first, ...lines],
    sections: sections.map((section) => datedSection(section, when, atMs)),
  };
}

/** In the order of a summary. */
const summaryWords: Readonly<Record<Kind, string>> = { ...words.outcome, available: words.verdict.stale };

/** `1 rolled back, 2 updated, 5 up to date of 8 containers, in 42s, asked by anna`. */
function summaryOf({ containers, startedAtMs, endedAtMs, by }: RunFacts): string {
  const outcomes = containers.map(kindOf);
  const total = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  const seconds = Math.round((endedAtMs - startedAtMs) / 1000) * 1000;
  const asked = by === undefined ? '' : `, asked by ${printable(by, 100)}`;
  return `${countsOf(outcomes, summaryWords)} of ${total}, in ${formatDuration(seconds)}${asked}`;
}

/** `hostname`, `titleTag`: empty for none. */
type HeadlineOptions = {
  readonly hostname: string;
  readonly titleTag: string;
  readonly skipTitle: boolean;
};

/** The begin of a title, before its outcome: `[home] nas`. Empty without titles. */
function originOf({ hostname, titleTag, skipTitle }: HeadlineOptions): string {
  if (skipTitle) return '';
  return `${titleTag === '' ? '' : `[${titleTag}] `}${hostname === '' ? 'Upkeep' : hostname}`;
}

/** `nas: web failed and was rolled back, 2 were updated`: the outcome first, because lists of messages show titles only. */
export function titled(origin: string, words: string): string {
  return origin === '' ? '' : `${origin}: ${words}`;
}

/** The outcomes with news in words, the worst first. */
function outcomeWords({ containers, news, error }: RunFacts): string {
  if (error !== undefined) return 'the run failed';
  return wordsOf(
    containers.filter((one) => news.has(entryKeyOf(one))).map((one) => [kindOf(one), nameOf(one)]),
    outcomes,
  );
}

/** The results of a repair in words, the worst first. */
function repairWords(transactions: readonly RecoveredTransaction[]): string {
  return wordsOf(
    transactions.map((one) => [one.result, `the update of ${keysOfRepaired(one).map(shortName).join(' and ')}`]),
    repairs,
    1,
  );
}

/** A failure is urgent. An update that only waits is not. */
function urgencyOf({ containers, news, error }: RunFacts): Urgency | undefined {
  const kinds = containers.filter((one) => news.has(entryKeyOf(one))).map(({ outcome }) => outcome);
  if (error !== undefined || kinds.some((kind) => kind === 'failed' || kind === 'rolled_back')) return 'high';
  return kinds.every((kind) => kind === 'skipped' || kind === 'deferred' || kind === 'fresh') ? 'low' : undefined;
}

/** The verb for one subject, and for several. */
type Verbs = readonly [one: string, several: string];

type Kind = OutcomeKind | 'available';

/** In the order of a title. */
const outcomes: Readonly<Record<Kind, Verbs>> = {
  rolled_back: [words.outcome.rolled_back, 'failed and were rolled back'],
  failed: ['failed', 'failed'],
  unknown: [words.outcome.unknown, words.outcome.unknown],
  updated: [`was ${words.outcome.updated}`, `were ${words.outcome.updated}`],
  went_back: [words.outcome.went_back, words.outcome.went_back],
  restarted: [`was ${words.outcome.restarted}`, `were ${words.outcome.restarted}`],
  available: ['has an update', 'have updates'],
  deferred: [`was ${words.outcome.deferred}`, `were ${words.outcome.deferred}`],
  skipped: [`was ${words.outcome.skipped}`, `were ${words.outcome.skipped}`],
  fresh: [`is ${words.outcome.fresh}`, `are ${words.outcome.fresh}`],
};

const repairs: Readonly<Record<RecoveredTransaction['result'], Verbs>> = {
  failed: ['cannot be repaired', 'updates cannot be repaired'],
  left: ['was left alone', 'updates were left alone'],
  undone: ['was undone', 'updates were undone'],
  finished: ['was finished', 'updates were finished'],
  solved: ['needs no repair now', 'updates need no repair now'],
};

/** The outcome, or `available` for a container that only has an update. */
function kindOf({ outcome, from, to }: ContainerOutcome): Kind {
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

/** The text about one container: a line, then links and a helpful command. */
type Paragraph = {
  readonly about: string;
  readonly level: MessageLevel;
  readonly name: string;
  /** The text after the name. */
  readonly text: string;
  /** What changes with the newer version: `! …` for what breaks, `* …` for the rest. */
  readonly notes: readonly string[];
  /** The lines of its log that tell why it failed. */
  readonly log: readonly string[];
  readonly links: readonly { readonly label: string; readonly address: string }[];
  /** `label: command`, ready to be copied; undefined: no command helps. */
  readonly command: { readonly label: string; readonly line: string } | undefined;
};

/** A heading with its paragraphs. */
type Section = { readonly heading: Heading; readonly paragraphs: readonly Paragraph[] };

const kindsOf: readonly (readonly [Heading, readonly OutcomeKind[]])[] = [
  ['Needs you', ['failed', 'unknown']],
  ['Rolled back', ['rolled_back']],
  ['Updated', ['updated']],
  ['Went back', ['went_back']],
  ['Restarted with them', ['restarted']],
  ['Not updated', ['skipped', 'deferred']],
];

const levels: Readonly<Record<OutcomeKind, MessageLevel>> = {
  updated: 'info',
  went_back: 'info',
  restarted: 'info',
  fresh: 'debug',
  skipped: 'info',
  deferred: 'info',
  unknown: 'warn',
  failed: 'error',
  rolled_back: 'error',
};

/** The sections with news. Containers that need attention come first. */
function sectionsOf({ containers, news, imageLabels }: RunFacts, timeZone: string): readonly Section[] {
  const reported = containers.filter((one) => news.has(entryKeyOf(one)));
  return kindsOf.flatMap(([heading, kinds]) => {
    const paragraphs = reported
      .filter(({ outcome }) => kinds.includes(outcome))
      .map((container) => paragraphOf(container, imageLabels, timeZone));
    return paragraphs.length === 0 ? [] : [{ heading, paragraphs }];
  });
}

function paragraphOf(container: ContainerOutcome, imageLabels: RunFacts['imageLabels'], timeZone: string): Paragraph {
  const { outcome, name, image, kind } = container;
  const details = [inLocalTime(detailOf(container, imageLabels), timeZone), downtimeOf(container)].filter(
    (part) => part !== '',
  );
  const text = ` (${kind === 'service' ? 'service, ' : ''}${imageOf(image)})${details.length === 0 ? '' : `: ${details.join('; ')}`}`;
  const isNews = tellsOfNewer(container);
  const { releases, page } = isNews ? linksOfUpdate(container, imageLabels) : noLinks;
  return {
    about: entryKeyOf(container),
    level: levels[outcome],
    name: printable(name, 200),
    text,
    notes: isNews ? notesOf(container.notes) : [],
    log: telltaleLines(container.log ?? ''),
    links: [
      ...(releases === undefined ? [] : [{ label: 'Release notes', address: releases }]),
      ...(page === undefined ? [] : [{ label: 'About it', address: page }]),
    ],
    command: commandFor(container),
  };
}

function notesOf(notes: ContainerOutcome['notes']): readonly string[] {
  if (notes === undefined) return [];
  const { lines, leftOut } = notes;
  const told = lines.map(({ text, isBreaking }) => `${isBreaking ? '!' : '*'} ${printable(text, 200)}`);
  return leftOut === 0 || told.length === 0 ? told : [...told, `and ${leftOut} more`];
}

function detailOf(container: ContainerOutcome, imageLabels: RunFacts['imageLabels']): string {
  const reason = printable(container.reason, 600);
  if (isWaiting(container) || container.outcome === 'unknown') {
    const { from = '', to = '' } = container;
    const change = from !== to && plainVersion.test(from) && plainVersion.test(to) ? `${from} → ${to}` : '';
    return [change, wordOf(container, reason), reason].filter((part) => part !== '').join('; ');
  }
  if (container.outcome !== 'updated' && container.outcome !== 'rolled_back') return reason;
  const change = versionChange(container, imageLabels);
  if (reason === '' || change === '') return change + reason;
  return container.outcome === 'updated' ? `${change}; ${reason}` : `${change} failed and was rolled back: ${reason}`;
}

/** The word of page and terminal for a container that waits, unless its reason has it too. */
function wordOf({ outcome, verdict, hold, from = '' }: ContainerOutcome, reason: string): string {
  if (outcome !== 'unknown' && verdict !== 'held') return '';
  const version = plainVersion.test(from) ? from : '';
  const word = words.waits(outcome === 'unknown' ? 'unknown' : 'held', hold, version);
  return reason.toLowerCase().includes(word) ? '' : word;
}

/**
 * `1.27.2 → 1.27.3`, with the ids of the images if both have the same version. Empty when nothing is known. Each version
 * is the one that the check has named, or comes from the labels of the image.
 */
function versionChange(
  { image, tagChange, from, to, oldImageId, newImageId }: ContainerOutcome,
  imageLabels: RunFacts['imageLabels'],
): string {
  if (oldImageId === newImageId || newImageId === '') return '';
  const shown = (id: string, named: string | undefined, reference = image) => {
    const version = named ?? versionOf({ labels: imageLabels.get(id), image: reference, digest: id }) ?? '';
    return plainVersion.test(version) ? version : shortId(id);
  };
  const [before, after] = [shown(oldImageId, from, tagChange?.from), shown(newImageId, to, tagChange?.to)];
  return before === after
    ? `${before} (${shortId(oldImageId)}) → ${after} (${shortId(newImageId)})`
    : `${before} → ${after}`;
}

/** Any other text could be read as formatting or a command by a service. */
const plainVersion = /^\w[\w.+~:-]{0,63}$/;

function linksOfUpdate(
  { image, tagChange, newImageId, sourceUrl, notes }: ContainerOutcome,
  imageLabels: RunFacts['imageLabels'],
) {
  if (notes?.url !== undefined) return { releases: notes.url, page: undefined };
  return linksOf({ labels: imageLabels.get(newImageId), image: tagChange?.to ?? image }, sourceUrl);
}

function isWaiting({ outcome }: ContainerOutcome): boolean {
  return outcome === 'skipped' || outcome === 'deferred';
}

/** Whether someone wants to read about the newer version. */
function tellsOfNewer(container: ContainerOutcome): boolean {
  return container.outcome === 'updated' || (isWaiting(container) && container.to !== undefined);
}

/** Reasons have times in UTC, as everywhere; a message has them as the reader's clock shows them. */
function inLocalTime(text: string, timeZone: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, (time) =>
    formatMoment(new Moment(Date.parse(time), timeZone), '2006-01-02 15:04 MST'),
  );
}

const noLinks = { releases: undefined, page: undefined };

/** Tenths of a second are precise enough. */
function downtimeOf({ downtimeMs, data, phases }: ContainerOutcome): string {
  if (downtimeMs === undefined) return '';
  if (downtimeMs === 0) return 'no downtime';
  const copyingMs = data === undefined ? undefined : phases?.['saving data'];
  const copying = copyingMs === undefined ? '' : `, ${formatDuration(copyingMs, 'rounded')} of it copying data`;
  return `down for ${formatDuration(downtimeMs, 'rounded')}${copying}`;
}

/** A name that a shell could interpret is not put into a command. */
function commandFor({ outcome, name }: ContainerOutcome): Paragraph['command'] {
  if (!/^[A-Za-z0-9][\w.-]*$/.test(name)) return undefined;
  if (outcome === 'updated') return { label: 'To go back', line: `upkeep rollback ${name}` };
  if (outcome === 'rolled_back') return { label: 'To try again', line: `upkeep update --retry-failed ${name}` };
  return outcome === 'failed' ? { label: 'To try again', line: `upkeep update ${name}` } : undefined;
}

function imageOf(image: string): string {
  const reference = tryParseImageReference(image);
  return reference === undefined ? printable(image, 300) : familiarReference(reference);
}

/** A message about earlier updates: a line for each, failures first. Undefined if none has that level. */
function repairDraft(
  { transactions, atMs }: RepairFacts,
  { origin, timeZone }: { readonly origin: string; readonly timeZone: string },
  least: MessageLevel,
): Draft | undefined {
  const reported = Object.keys(repairSummaryWords).flatMap((kind) =>
    transactions.filter(({ result }) => result === kind && isAtLeast(repairLevels[result], least)),
  );
  if (reported.length === 0) return undefined;
  const results = reported.map(({ result }) => result);
  const summary = `Of earlier updates: ${countsOf(results, repairSummaryWords)}`;
  const lines = reported.map((one): MessageLine => ({
    level: repairLevels[one.result],
    text: inLocalTime(repairSentence(one), timeZone),
    atMs,
  }));
  const hint = reported.some(({ result }) => result === 'failed' || result === 'left');
  const next = hint ? ['', 'It is tried again, by the service within a minute. To try at once: upkeep recover'] : [];
  const when = formatMoment(new Moment(atMs, timeZone), 'Mon 2 Jan 15:04 MST');
  const items = reported.map((one) => {
    const text = `${inLocalTime(repairSentence(one), timeZone)}; ${when}`;
    const level = repairLevels[one.result];
    const about = keysOfRepaired(one).join(' ');
    return { about, level, text: `- ${text}`, markdown: `- ${escapeMarkdown(text)}`, atMs };
  });
  return {
    title: titled(origin, repairWords(reported)),
    origin,
    ...(results.includes('failed') && { urgency: 'high' }),
    text: [summary, '', ...lines.map(({ text }) => `- ${text}`), ...next].join('\n'),
    markdown: [escapeMarkdown(summary), '', ...lines.map(({ text }) => `- ${escapeMarkdown(text)}`), ...next]
      .join('\n')
      .replace(/upkeep recover$/, '`$&`'),
    level: mostSevereLevel(lines),
    lines: [{ level: 'info', text: summary, atMs }, ...lines],
    sections: [{ heading: 'Earlier updates', items }],
  };
}

/** In the order of a message. */
const repairSummaryWords: Readonly<Record<RecoveredTransaction['result'], string>> = {
  failed: 'cannot be repaired',
  left: 'left alone',
  undone: 'undone',
  finished: 'finished',
  solved: 'solved',
};

function plainSection({ heading, paragraphs }: Section): readonly string[] {
  return ['', `${heading}:`, ...paragraphs.flatMap(plainParagraph)];
}

function plainParagraph({ name, text, notes, log, links, command }: Paragraph): readonly string[] {
  return [
    `- ${name}${text}`,
    ...notes.map((line) => `  ${line}`),
    ...log.map((line) => `  Log: ${line}`),
    ...links.map(({ label, address }) => `  ${label}: ${address}`),
    ...(command === undefined ? [] : [`  ${command.label}: ${command.line}`]),
  ];
}

function markdownSection({ heading, paragraphs }: Section): readonly string[] {
  return ['', `**${heading}**`, '', ...paragraphs.flatMap(markdownParagraph)];
}

function markdownParagraph({ name, text, notes, log, links, command }: Paragraph): readonly string[] {
  return [
    `- **${escapeMarkdown(name)}**${escapeMarkdown(text)}`,
    ...notes.map((line) => `  - ${escapeMarkdown(line.replace(/^\* /, ''))}`),
    ...log.map((line) => `  - Log: ${escapeMarkdown(line)}`),
    ...links.map(({ label, address }) => `  - [${label}](${address})`),
    ...(command === undefined ? [] : [`  - ${command.label}: \`${command.line}\``]),
  ];
}

/** The same for a message about several runs: each paragraph has its time. */
function datedSection({ heading, paragraphs }: Section, when: string, atMs: number): MessageSection {
  const items = paragraphs.map((paragraph) => {
    const dated = { ...paragraph, text: `${paragraph.text}; ${when}` };
    const { about, level } = paragraph;
    return {
      about,
      level,
      text: plainParagraph(dated).join('\n'),
      markdown: markdownParagraph(dated).join('\n'),
      atMs,
    };
  });
  return { heading, items };
}

/** Escapes one line of text for CommonMark: https://spec.commonmark.org/0.31.2/#backslash-escapes */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#+!|~&]|^[-=]/g, String.raw`\$&`);
}

/** `2 updated, 5 up to date`: the number of each kind that occurs, in the order of the table. */
function countsOf<Kind extends string>(kinds: readonly Kind[], table: Readonly<Record<Kind, string>>): string {
  const counts = Object.entries<string>(table).flatMap(([kind, word]) => {
    const count = kinds.filter((one) => one === kind).length;
    return count === 0 ? [] : [words.counted(count, word)];
  });
  return counts.join(', ');
}
