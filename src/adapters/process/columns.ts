/**
 * The largest number of columns that a text can take on a terminal: a non-ASCII character counts as two. The exact
 * width needs tables that a service would load at its start and rarely use.
 */
export function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += plain.test(character) ? 1 : 2;
  return columns;
}

/** Cuts the text to the columns. A cut text ends in `…`; characters keep their combining marks. */
export function cutToColumns(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let [kept, room] = ['', columns - 1];
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    room -= columnsOf(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

/** ASCII, and the mark of a cut. */
const plain = /^[\x20-\x7e…]*$/;
