/** A part of a line. Its words are plain. */
export type Span =
  | { readonly kind: 'words' | 'bold' | 'code'; readonly words: string }
  | { readonly kind: 'link'; readonly words: string; readonly address: string };

export type MarkedLine = { readonly kind: 'line' | 'item' | 'nested'; readonly spans: readonly Span[] };

/**
 * Reads the CommonMark of a message, which Upkeep has written: lines and nested lists with bold words, links and
 * commands, and backslashes before all other marks.
 */
export function readMarked(markdown: string): readonly MarkedLine[] {
  return markdown.split('\n').map((line) => {
    const [begin = ''] = /^(?: {2})?- /.exec(line) ?? [];
    const kind = begin === '' ? 'line' : begin === '- ' ? 'item' : 'nested';
    return { kind, spans: spansOf(line.slice(begin.length)) };
  });
}

function spansOf(line: string): readonly Span[] {
  const spans: Span[] = [];
  let words = '';
  const end = (): void => {
    if (words !== '') spans.push({ kind: 'words', words });
    words = '';
  };
  for (const [found, escaped, bold, label, address, code] of line.matchAll(marks)) {
    const span = spanOf({ bold, label, address, code });
    if (span === undefined) words += escaped ?? found;
    else {
      end();
      spans.push(span);
    }
  }
  end();
  return spans;
}

/** An escaped mark, bold words, a link, a command, or any other character. */
const marks =
  /\\([!-/:-@[-`{-~])|\*\*((?:\\.|[^\\*])+)\*\*|\[((?:\\.|[^\\\]])+)\]\((https?:\/\/[^\s()<>]+)\)|`([^`]+)`|[^]/gu;

type Found = Readonly<Record<'bold' | 'label' | 'address' | 'code', string | undefined>>;

function spanOf({ bold, label, address, code }: Found): Span | undefined {
  if (bold !== undefined) return { kind: 'bold', words: unescaped(bold) };
  if (label !== undefined && address !== undefined) return { kind: 'link', words: unescaped(label), address };
  return code === undefined ? undefined : { kind: 'code', words: code };
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1');
}
