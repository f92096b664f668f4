import { createTerminal, type Terminal, type TextStream } from '../../../src/interfaces/cli/terminal/terminal.ts';

/** Two standard streams whose text is kept. */
export type FakeTerminal = {
  readonly terminal: Terminal;
  readonly out: () => string;
  readonly err: () => string;
  readonly resize: (columns: number, rows: number) => void;
  /** If standard output is a terminal: the text on its screen and above, without trailing spaces. */
  readonly screen: () => readonly string[];
  /** The number of writes to standard output. */
  readonly writes: () => number;
};

export type FakeTerminalOptions = { readonly isTerminal?: boolean; readonly columns?: number; readonly rows?: number };

export function createFakeTerminal({
  isTerminal = false,
  columns = 80,
  rows = 24,
}: FakeTerminalOptions = {}): FakeTerminal {
  const size = { columns, rows };
  const listeners = new Set<() => void>();
  const written = { out: '', err: '', both: '' };
  let writes = 0;
  const stream = (name: 'out' | 'err'): TextStream => ({
    isTTY: isTerminal,
    get columns() {
      return size.columns;
    },
    get rows() {
      return size.rows;
    },
    write: (text) => {
      if (name === 'out') writes += 1;
      written[name] += text;
      written.both += text;
    },
    on: (_event, listener) => void listeners.add(listener),
    off: (_event, listener) => void listeners.delete(listener),
  });
  return {
    terminal: createTerminal(stream('out'), stream('err')),
    out: () => written.out,
    err: () => written.err,
    writes: () => writes,
    screen: () => render(written.both),
    resize: (newColumns, newRows) => {
      Object.assign(size, { columns: newColumns, rows: newRows });
      for (const listener of listeners) listener();
    },
  };
}

/** Renders text on an endless page: line ends, colours, "up", "clear line" and "clear below". */
function render(text: string): readonly string[] {
  const lines = [''];
  let row = 0;
  let column = 0;
  // oxlint-disable-next-line no-control-regex -- the grammar of terminals
  for (const [token, count, command] of text.matchAll(/\u001b\[(\d*)([A-Za-z])|\n|\r|[^\u001b\n\r]/gu)) {
    if (token === '\n') [row, column] = [row + 1, 0];
    else if (token === '\r') column = 0;
    else if (command === 'A') row = Math.max(0, row - Number(count || 1));
    else if (command === 'K') lines[row] = (lines[row] ?? '').slice(0, column);
    else if (command === 'J') lines.splice(row, lines.length, (lines[row] ?? '').slice(0, column));
    else if (command === undefined) {
      lines[row] = (lines[row] ?? '').padEnd(column).slice(0, column) + token + (lines[row] ?? '').slice(column + 1);
      column += 1;
    }
    while (lines.length <= row) lines.push('');
  }
  return lines.map((line) => line.trimEnd());
}
