import { boundedDraft } from '../bounded-draft.ts';
import {
  mostSevereLevel,
  type Heading,
  headings,
  type Message,
  type MessageItem,
  type MessageLine,
} from '../message.ts';
import type { Draft } from '../run-facts.ts';
import { titled } from '../upkeep/headline.ts';
import type { OutboxEntry } from './outbox.ts';
import type { OutboxRecord } from './record.ts';

/**
 * Combines several messages, oldest first, into one, with the records that replace them. A single message stays as it
 * is. The id comes from the last message, whose end is recorded last: a merge repeated after a crash gives the same id.
 */
export function merge(entries: readonly OutboxEntry[], nowMs: number): readonly OutboxRecord[] {
  const last = entries.at(-1);
  if (last === undefined) return [];
  const { target } = last;
  const { sections: _, ...alone } = last.message;
  const message: Message = { ...(entries.length === 1 ? alone : merged(entries, last)), id: `${last.message.id}-due` };
  const ends = entries.map(({ message: { id } }): OutboxRecord => ({ kind: 'end', target, id, end: 'merged' }));
  return [{ kind: 'put', target, message, dueAtMs: nowMs }, ...ends];
}

function merged(entries: readonly OutboxEntry[], { hold, message: last }: OutboxEntry): Omit<Message, 'id'> {
  const messages = entries.map(({ message }) => message);
  const distinct = [...new Map(messages.map((message) => [message.text, message])).values()];
  const occasion = hold === 'quiet' ? 'In quiet hours' : 'Since the last digest';
  const digest = digestOf(messages, occasion);
  const title = digest === undefined || last.origin === undefined ? last.title : titled(last.origin, digest.counts);
  const draft = boundedDraft({ title, ...(digest?.draft ?? joined(distinct)), ...urgencyOf(messages) });
  return { ...draft, ...(last.origin !== undefined && { origin: last.origin }), createdAtMs: last.createdAtMs };
}

/**
 * Combines several messages in Upkeep's own wording, oldest first. Each heading and each item appears once. Undefined
 * if one of them has no sections.
 */
function digestOf(
  messages: readonly Message[],
  occasion: string,
): { readonly counts: string; readonly draft: Omit<Draft, 'title'> } | undefined {
  const sectionLists = messages.map(({ sections }) => sections);
  if (sectionLists.includes(undefined)) return undefined;
  const all = sectionLists.flatMap((sections = [], index) =>
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
  const draft = {
    text: print(
      (heading) => ['', `${heading}:`],
      ({ text }) => text,
    ),
    markdown: print(
      (heading) => ['', `**${heading}**`, ''],
      ({ markdown }) => markdown,
    ),
    level: mostSevereLevel(messages),
    lines: [{ level: 'info', text: summary, atMs: messages.at(-1)?.createdAtMs ?? 0 } as const, ...lines],
  };
  return { counts: counts.length === 0 ? 'nothing new' : counts.join(', '), draft };
}

/** A failure makes the whole urgent. */
function urgencyOf(messages: readonly Message[]): Pick<Message, 'urgency'> {
  const all = messages.map(({ urgency }) => urgency);
  if (all.includes('high')) return { urgency: 'high' };
  return all.every((urgency) => urgency === 'low') ? { urgency: 'low' } : {};
}

/** True until something else is known about the same container. */
const passing: readonly Heading[] = ['Needs you', 'Not updated', 'Started'];

const words: Readonly<Record<Exclude<Heading, 'Started'>, string>> = {
  'Needs you': 'in need of you',
  'Rolled back': 'rolled back',
  Updated: 'updated',
  'Went back': 'went back',
  'Restarted with them': 'restarted',
  'Not updated': 'not updated',
  'Earlier updates': 'repaired',
};

/** Log lines continue from one message to the next. Texts of templates are separated. */
function joined(messages: readonly Message[]): Omit<Draft, 'title'> {
  const gap = messages.every(({ lines }) => lines.length > 0) ? '\n' : '\n\n';
  return {
    text: messages.map(({ text }) => text.trimEnd()).join(gap),
    ...(messages.every(({ isFromTemplate }) => isFromTemplate) && { isFromTemplate: true }),
    level: mostSevereLevel(messages),
    lines: messages.flatMap(({ lines }) => lines),
  };
}
