import type { StyleName } from './style.ts';

export type Column = {
  readonly title: string;
  /** Minimum width in a table with one line per row, while another column can shrink. */
  readonly min: number;
  /** End of the text that stays when it is cut. */
  readonly keep: 'start' | 'end';
  /** Without room for all columns, the highest number is dropped first. 0 is never dropped. */
  readonly dropPriority: number;
  /** A sentence: below its row for people, in its own column for programs. */
  readonly isSentence?: true;
};

export type Cell = { readonly text: string; readonly style: StyleName };
