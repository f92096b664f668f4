/** Colours, or empty texts when they are off. */
export type Style = Readonly<Record<StyleName, (text: string) => string>>;

export type StyleName = 'plain' | 'bold' | 'grey' | 'red' | 'green' | 'yellow' | 'cyan';

export function createStyle(colour: boolean): Style {
  const paint = (name: Exclude<StyleName, 'plain'>) => (text: string) =>
    colour && text !== '' ? `\u001b[${colourCodes[name]}m${text}\u001b[0m` : text;
  return {
    plain: (text) => text,
    bold: paint('bold'),
    grey: paint('grey'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    cyan: paint('cyan'),
  };
}

/** https://en.wikipedia.org/wiki/ANSI_escape_code#Select_Graphic_Rendition_parameters */
const colourCodes = { bold: 1, grey: 90, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

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
