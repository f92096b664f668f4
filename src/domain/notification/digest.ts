import { gravestLevel } from './level.ts';
import { type Heading, headings, type Message, type MessageItem, type MessageLine } from './message.ts';

type Parts = Pick<Message, 'text' | 'markdown' | 'level' | 'lines'>;

/**
 * Combines several messages in Upkeep's own wording, oldest first. Each heading and each item appears once. Undefined
 * if one of them has no sections.
 */
export function digestOf(messages: readonly Message[], occasion: string): Parts | undefined {
  const told = messages.map(({ sections }) => sections);
  if (told.includes(undefined)) return undefined;
  const all = told.flatMap((sections = [], index) =>
    sections.flatMap(({ heading, items }) => items.map((item) => ({ ...item, heading, index }))),
  );
  const latest = new Map(all.map(({ about, index }) => [about, index]));
  const kept = all.filter(({ heading, about, index }) => !passing.includes(heading) || latest.get(about) === index);
  const sections = headings.flatMap((heading) => {
    const items = kept.filter((item) => item.heading === heading);
    return items.length === 0 ? [] : [{ heading, items }];
  });
  const counts = sections.flatMap(({ heading, items }) =>
    heading === 'Started' ? [] : [`${items.length} ${words[heading]}`],
  );
  const summary = counts.length === 0 ? occasion : `${occasion}: ${counts.join(', ')}`;
  const print = (headingOf: (heading: Heading) => readonly string[], show: (item: MessageItem) => string) =>
    [summary, ...sections.flatMap(({ heading, items }) => [...headingOf(heading), ...items.map(show)])].join('\n');
  const lines = sections.flatMap(({ items }) =>
    items.map(({ level, text, atMs }): MessageLine => ({ level, text, atMs })),
  );
  return {
    text: print(
      (heading) => ['', `${heading}:`],
      ({ text }) => text,
    ),
    markdown: print(
      (heading) => ['', `**${heading}**`, ''],
      ({ markdown }) => markdown,
    ),
    level: gravestLevel(messages),
    lines: [{ level: 'info', text: summary, atMs: messages.at(-1)?.createdAtMs ?? 0 }, ...lines],
  };
}

/** True until something else is known about the same container. */
const passing: readonly Heading[] = ['Needs you', 'Not updated', 'Started'];

const words: Readonly<Record<Exclude<Heading, 'Started'>, string>> = {
  'Needs you': 'in need of you',
  'Rolled back': 'rolled back',
  Updated: 'updated',
  'Restarted with them': 'restarted',
  'Not updated': 'not updated',
  'Earlier updates': 'repaired',
};
