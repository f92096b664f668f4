import { ServiceError } from '../../../domain/text/errors.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import { printable } from '../../../domain/text/printable.ts';

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

type ScreenOwner = { readonly clear: () => void; readonly redraw: () => void };

type Lease = { readonly write: (text: string) => void; readonly release: () => void };

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

/** Handling of Ctrl-C and other stop signals. */
export type Interrupt = {
  /** Aborts with the first signal. */
  readonly signal: AbortSignal;
  /** Aborts with the first SIGTERM, after which process managers kill a process that does not end. */
  readonly ending: AbortSignal;
  readonly onSignal: (name: SignalName) => void;
  /** The exit code after a signal: 128 plus its number. Undefined before. */
  readonly exitCode: () => number | undefined;
};

/** A closed terminal sends SIGHUP. Node turns SIGPIPE into an error of the stream. */
export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

export type InterruptOptions = {
  /** Called at the first signal. */
  readonly say: (line: string) => void;
  /** Must end the process. */
  readonly quit: (exitCode: number, lastWords: string) => void;
  /** Whether the running work can be interrupted half-way. */
  readonly hasSafePoints: boolean;
  readonly monotonicMs: () => number;
  /** The containers with an update under way, safe to print. */
  readonly underWay: () => readonly string[];
};

/**
 * The first signal asks for a stop at a safe point. Further ones within two seconds count as the same:
 * process managers and GNU `timeout` send two. Later ones end the process at once.
 */
export function createInterrupt({ say, quit, hasSafePoints, monotonicMs, underWay }: InterruptOptions): Interrupt {
  const controller = new AbortController();
  const ending = new AbortController();
  let firstSignal: { readonly exitCode: number; readonly atMs: number } | undefined;
  return {
    signal: controller.signal,
    ending: ending.signal,
    exitCode: () => firstSignal?.exitCode,
    onSignal: (name) => {
      if (name === 'SIGTERM') ending.abort();
      if (firstSignal === undefined) {
        firstSignal = { exitCode: exitCodes[name], atMs: monotonicMs() };
        // The reader of the output has gone: nobody waits.
        if (hasSafePoints && name !== 'SIGPIPE')
          say(name === 'SIGINT' ? `${stopLine}; Ctrl-C again after 2s quits at once` : stopLine);
        controller.abort(new ServiceError('cancelled', `Cannot continue: stopped by ${name}`));
      } else if (monotonicMs() - firstSignal.atMs >= repeatWindowMs) {
        quit(exitCodes[name], hasSafePoints ? quitLine(underWay()) : '');
      }
    },
  };
}

/** https://tldp.org/LDP/abs/html/exitcodes.html */
const exitCodes: Readonly<Record<SignalName, number>> = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 };

const repeatWindowMs = 2000;

const stopLine = 'Stopping at the next safe point';

function quitLine(underWay: readonly string[]): string {
  const line = 'Quit at once: the next start of Upkeep finishes or undoes the interrupted update';
  if (underWay.length === 0) return line;
  const more = underWay.length > maxNamed ? ` and ${underWay.length - maxNamed} more` : '';
  return `${line} of ${underWay.slice(0, maxNamed).join(', ')}${more}`;
}

/** More names make the line hard to read. */
const maxNamed = 10;

/** Updates that have changed the engine and have not ended. An exit now would leave them unfinished. */
export function createUpdateTracker(): {
  readonly onEvent: (event: ServiceEvent) => void;
  /** Names of containers, safe to print. */
  readonly names: () => readonly string[];
} {
  const begun = new Set<string>();
  return {
    onEvent: (event) => {
      if (event.kind === 'phase_entered' && event.phase !== 'pulling') begun.add(event.container);
      if ('outcome' in event) begun.delete(event.outcome.name);
    },
    names: () => [...begun].map((name) => printable(name, 300)),
  };
}
