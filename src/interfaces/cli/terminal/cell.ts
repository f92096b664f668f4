import type { StyleName } from './style.ts';

export type Column = {
  readonly title: string;
  /** In a table of one line per row: it is not made narrower than this while another column can give. */
  readonly min: number;
  /** End of the text that stays when it is cut. */
  readonly keep: 'start' | 'end';
  /** Where there is no room for all columns the one with the highest number goes first; 0 stays. */
  readonly expendable: number;
  /** A sentence: below its row where people read, in a column of its own where programs do. */
  readonly isSentence?: true;
};

export type Cell = { readonly text: string; readonly style: StyleName };
