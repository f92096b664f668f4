import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/** The width of a text in columns. Colours count as none. */
export const displayWidth: (text: string) => number = stringWidth;

/** The text in exactly that many columns: padded, or cut with `…` at its end, or at its start to keep the end. */
export function fit(text: string, width: number, keep: 'start' | 'end' = 'start'): string {
  const taken = displayWidth(text);
  if (taken <= width) return text + ' '.repeat(width - taken);
  if (width < 1) return '';
  const segments = [...graphemes.segment(text)].map(({ segment }) => segment);
  let kept = '';
  let room = width - 1;
  for (const segment of keep === 'start' ? segments : segments.toReversed()) {
    room -= displayWidth(segment);
    if (room < 0) break;
    kept = keep === 'start' ? kept + segment : segment + kept;
  }
  const cut = keep === 'start' ? `${kept}…` : `…${kept}`;
  return cut + ' '.repeat(Math.max(0, width - displayWidth(cut)));
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Wraps a text into lines of at most that many columns: at spaces, and inside a word only if it is longer than a line.
 */
export function wrapText(text: string, width: number): readonly string[] {
  return wrapAnsi(text, Math.max(1, width), { hard: true })
    .split('\n')
    .map((line) => line.trim());
}
