/** The output of a command: its result to `out`, everything else to `err`. */
export type Terminal = {
  readonly out: TextOutput;
  readonly err: TextOutput;
  /**
   * Gives the bottom lines of `out` to one owner. Other output goes above them, for example log lines: the owner's
   * `clear` runs before it, and `redraw` after it.
   */
  readonly takeBottomLines: (owner: ScreenOwner) => Lease;
};

export type TextOutput = {
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  /** Returns a function that unsubscribes. */
  readonly onResize: (listener: () => void) => () => void;
};

export type ScreenOwner = { readonly clear: () => void; readonly redraw: () => void };

export type Lease = { readonly write: (text: string) => void; readonly release: () => void };

/** The part of Node's `tty.WriteStream` that is used here, so that tests can replace it. */
export type TextStream = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly write: (text: string) => unknown;
  readonly on?: (event: 'resize', listener: () => void) => unknown;
  readonly off?: (event: 'resize', listener: () => void) => unknown;
};

/** The two standard streams as one screen. */
export function createTerminal(stdout: TextStream, stderr: TextStream): Terminal {
  let owner: ScreenOwner | undefined;
  const above = (stream: TextStream) => (text: string) => {
    if (stream.isTTY !== true || owner === undefined) {
      stream.write(text);
      return;
    }
    owner.clear();
    stream.write(text);
    owner.redraw();
  };
  return {
    out: outputOn(stdout, above(stdout)),
    err: outputOn(stderr, above(stderr)),
    takeBottomLines: (newOwner) => {
      owner = newOwner;
      const release = () => {
        if (owner === newOwner) owner = undefined;
      };
      return { write: (text) => stdout.write(text), release };
    },
  };
}

/** Size for a pipe, and for a terminal that does not report one. */
const usual = { columns: 80, rows: 24 };

function outputOn(stream: TextStream, write: (text: string) => void): TextOutput {
  return {
    isTerminal: stream.isTTY === true,
    write,
    columns: () => stream.columns || usual.columns,
    rows: () => stream.rows || usual.rows,
    onResize: (listener) => {
      stream.on?.('resize', listener);
      return () => stream.off?.('resize', listener);
    },
  };
}
