import { keysOfRepaired, type RecoveredTransaction } from '../../run/event.ts';
import { mostSevereLevel, isAtLeast, type MessageLevel, type MessageLine } from '../message.ts';
import { repairLevels, repairSentence } from '../repair-wording.ts';
import type { Draft, RepairFacts } from '../run-facts.ts';
import { formatMoment } from '../template/time/format.ts';
import { Moment } from '../template/time/moment.ts';
import { repairWords, titled } from './headline.ts';
import { inLocalTime } from './paragraphs.ts';
import { countsOf, escapeMarkdown } from './print.ts';

/** A message about earlier updates: a line for each, failures first. Undefined if none has that level. */
export function repairDraft(
  { transactions, atMs }: RepairFacts,
  { origin, timeZone }: { readonly origin: string; readonly timeZone: string },
  least: MessageLevel,
): Draft | undefined {
  const reported = Object.keys(words).flatMap((kind) =>
    transactions.filter(({ result }) => result === kind && isAtLeast(repairLevels[result], least)),
  );
  if (reported.length === 0) return undefined;
  const results = reported.map(({ result }) => result);
  const summary = `Of earlier updates: ${countsOf(results, words)}`;
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
const words: Readonly<Record<RecoveredTransaction['result'], string>> = {
  failed: 'cannot be repaired',
  left: 'left alone',
  undone: 'undone',
  finished: 'finished',
  solved: 'solved',
};
