/** How many columns a text takes on a terminal; it has no control characters and no line ends. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes().segment(text)) width += widthOf(segment);
  return width;
}

/** The text in exactly so many columns: padded, or cut with `…` at its end (at its start to keep the end). */
export function fit(text: string, width: number, keep: 'start' | 'end' = 'start'): string {
  const taken = displayWidth(text);
  if (taken <= width) return text + ' '.repeat(width - taken);
  if (width < 1) return '';
  const segments = [...graphemes().segment(text)].map(({ segment }) => segment);
  let kept = '';
  let room = width - 1;
  for (const segment of keep === 'start' ? segments : segments.toReversed()) {
    room -= widthOf(segment);
    if (room < 0) break;
    kept = keep === 'start' ? kept + segment : segment + kept;
  }
  const cut = keep === 'start' ? `${kept}…` : `…${kept}`;
  return cut + ' '.repeat(Math.max(0, width - displayWidth(cut)));
}

/** Breaks a text into lines of at most so many columns: at spaces, and inside of words that are longer than a line. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((each) => pieces(each, width))) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(joined) > width) {
      lines.push(line);
      line = word;
    } else {
      line = joined;
    }
  }
  return [...lines, line];
}

function pieces(word: string, width: number): readonly string[] {
  if (displayWidth(word) <= width) return [word];
  const found: string[] = [];
  let piece = '';
  for (const { segment } of graphemes().segment(word)) {
    if (piece !== '' && displayWidth(piece + segment) > width) {
      found.push(piece);
      piece = '';
    }
    piece += segment;
  }
  return [...found, piece];
}

let segmenter: Intl.Segmenter | undefined;

function graphemes(): Intl.Segmenter {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter;
}

function widthOf(grapheme: string): number {
  if (/^\p{M}*$/u.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/**
 * The blocks of East_Asian_Width W and F (https://www.unicode.org/reports/tr11/), and emoji; an
 * unassigned character among them counts as wide, so that a line is too short rather than too long.
 */
const wide =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u;
