import type { MessageSection } from '../message.ts';
import type { Paragraph, Section } from './paragraphs.ts';

export function plainSection({ heading, paragraphs }: Section): readonly string[] {
  return ['', `${heading}:`, ...paragraphs.flatMap(plainParagraph)];
}

export function plainParagraph({ name, text, log, links, command }: Paragraph): readonly string[] {
  return [
    `- ${name}${text}`,
    ...log.map((line) => `  Log: ${line}`),
    ...links.map(({ label, address }) => `  ${label}: ${address}`),
    ...(command === undefined ? [] : [`  ${command.label}: ${command.line}`]),
  ];
}

export function markdownSection({ heading, paragraphs }: Section): readonly string[] {
  return ['', `**${heading}**`, '', ...paragraphs.flatMap(markdownParagraph)];
}

function markdownParagraph({ name, text, log, links, command }: Paragraph): readonly string[] {
  return [
    `- **${escapeMarkdown(name)}**${escapeMarkdown(text)}`,
    ...log.map((line) => `  - Log: ${escapeMarkdown(line)}`),
    ...links.map(({ label, address }) => `  - [${label}](${address})`),
    ...(command === undefined ? [] : [`  - ${command.label}: \`${command.line}\``]),
  ];
}

/** The same for a message about several runs: each paragraph has its time. */
export function datedSection({ heading, paragraphs }: Section, when: string, atMs: number): MessageSection {
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

/** `2 updated, 5 up to date`: the number of each kind that occurs, in the order of the words. */
export function countsOf<Kind extends string>(kinds: readonly Kind[], words: Readonly<Record<Kind, string>>): string {
  const counts = Object.entries<string>(words).flatMap(([kind, word]) => {
    const count = kinds.filter((one) => one === kind).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return counts.join(', ');
}
