import { formatDuration } from '../../text/duration.ts';
import { printable } from '../../text/printable.ts';
import { mostSevereLevel, isAtLeast, type MessageLevel, type MessageLine } from '../message.ts';
import type { Composer, Draft, RunFacts, StartFacts } from '../run-facts.ts';
import { formatMoment } from '../template/time/format.ts';
import { Moment } from '../template/time/moment.ts';
import { type HeadlineOptions, type Kind, kindOf, originOf, outcomeWords, titled, urgencyOf } from './headline.ts';
import { repairDraft } from './repairs.ts';
import { inLocalTime, type Section, sectionsOf } from './paragraphs.ts';
import { countsOf, datedSection, escapeMarkdown, markdownSection, plainParagraph, plainSection } from './print.ts';

/** `timeZone`: the IANA name of the time zone in messages. */
export type UpkeepTextOptions = HeadlineOptions & { readonly timeZone: string };

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
const words: Readonly<Record<Kind, string>> = {
  failed: 'failed',
  rolled_back: 'rolled back',
  unknown: 'could not be checked',
  updated: 'updated',
  went_back: 'went back',
  restarted: 'restarted',
  available: 'with an update',
  skipped: 'skipped',
  deferred: 'deferred',
  fresh: 'up to date',
};

/** `1 rolled back, 2 updated, 5 up to date of 8 containers, in 42s`. */
function summaryOf({ containers, startedAtMs, endedAtMs }: RunFacts): string {
  const outcomes = containers.map(kindOf);
  const total = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  const seconds = Math.round((endedAtMs - startedAtMs) / 1000) * 1000;
  return `${countsOf(outcomes, words)} of ${total}, in ${formatDuration(seconds)}`;
}
