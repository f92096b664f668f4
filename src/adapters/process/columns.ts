/**
 * Columns that a text takes on a terminal at most: a character beyond ASCII counts as two, as the widest do. The exact
 * width needs tables that a service would load at its start and rarely use.
 */
export function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += plain.test(character) ? 1 : 2;
  return columns;
}

/** The text in at most so many columns; a cut ends in `…` and leaves characters with their marks whole. */
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
