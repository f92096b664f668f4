import type { RecoveredTransaction } from '../../run/recovery-report.ts';
import { isAtLeast, gravestLevel } from '../level.ts';
import type { MessageLevel, MessageLine } from '../message.ts';
import { repairLevels, repairSentence } from '../repair-wording.ts';
import type { Draft, RepairFacts } from '../run-facts.ts';
import { formatMoment } from '../template/time/format.ts';
import { Moment } from '../template/time/moment.ts';
import { escapeMarkdown } from './markdown.ts';

/** A message about earlier updates: a line for each, failures first. Undefined if none has that level. */
export function repairDraft(
  { transactions, atMs }: RepairFacts,
  { title, timeZone }: { readonly title: string; readonly timeZone: string },
  least: MessageLevel,
): Draft | undefined {
  const told = order.flatMap((kind) =>
    transactions.filter(({ result }) => result === kind && isAtLeast(repairLevels[kind], least)),
  );
  if (told.length === 0) return undefined;
  const summary = `Of earlier updates: ${order.flatMap((kind) => countOf(kind, told)).join(', ')}`;
  const lines = told.map((one): MessageLine => ({ level: repairLevels[one.result], text: repairSentence(one), atMs }));
  const hint = told.some(({ result }) => result === 'failed' || result === 'left');
  const next = hint ? ['', 'The next run tries again. To try at once: upkeep recover'] : [];
  const when = formatMoment(new Moment(atMs, timeZone), 'Mon 2 Jan 15:04');
  const items = told.map((one) => {
    const text = `${repairSentence(one)}; ${when}`;
    const level = repairLevels[one.result];
    return { about: one.containers.join(' '), level, text: `- ${text}`, markdown: `- ${escapeMarkdown(text)}`, atMs };
  });
  return {
    title,
    text: [summary, '', ...lines.map(({ text }) => `- ${text}`), ...next].join('\n'),
    markdown: [escapeMarkdown(summary), '', ...lines.map(({ text }) => `- ${escapeMarkdown(text)}`), ...next]
      .join('\n')
      .replace(/upkeep recover$/, '`$&`'),
    level: gravestLevel(lines),
    lines: [{ level: 'info', text: summary, atMs }, ...lines],
    sections: [{ heading: 'Earlier updates', items }],
  };
}

const order = ['failed', 'left', 'undone', 'finished'] as const;

const words: Readonly<Record<RecoveredTransaction['result'], string>> = {
  failed: 'cannot be repaired',
  left: 'left alone',
  undone: 'undone',
  finished: 'finished',
};

function countOf(kind: RecoveredTransaction['result'], told: readonly RecoveredTransaction[]): readonly string[] {
  const count = told.filter(({ result }) => result === kind).length;
  return count === 0 ? [] : [`${count} ${words[kind]}`];
}
