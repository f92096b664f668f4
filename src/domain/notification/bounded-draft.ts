import type { MessageLine, MessageSection } from './message.ts';
import type { Draft } from './run-facts.ts';

/** The draft, cut at a line end if it is longer than any service shows. The last line counts the omitted lines. */
export function boundedDraft(draft: Draft): Draft {
  const { text, markdown, lines, title, sections } = draft;
  return {
    ...draft,
    title: beginning(title, longestTitle),
    text: cut(text),
    ...(markdown !== undefined && { markdown: cut(markdown) }),
    lines: cutLines(lines),
    ...(sections !== undefined && { sections: cutSections(sections) }),
  };
}

/** In characters: a line each for three hundred containers. The limits of all services are far below. */
const longestText = 50_000;
const longestTitle = 500;

function cut(text: string): string {
  if (text.length <= longestText) return text;
  const end = text.lastIndexOf('\n', longestText);
  const kept = end > 0 ? text.slice(0, end) : beginning(text, longestText);
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
  const kept = lines.findIndex(({ text }) => (size += text.length) > longestText);
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
      if (larger > 2 * longestText) return false;
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
