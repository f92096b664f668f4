/** Colours, or empty texts when they are off. */
export type Style = Readonly<Record<StyleName, (text: string) => string>>;

export type StyleName = 'plain' | 'bold' | 'grey' | 'red' | 'green' | 'yellow' | 'cyan';

export function createStyle(colour: boolean): Style {
  const paint = (name: Exclude<StyleName, 'plain'>) => (text: string) =>
    colour && text !== '' ? `\u001b[${codes[name]}m${text}\u001b[0m` : text;
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
const codes = { bold: 1, grey: 90, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
