import { ServiceError } from '../../domain/errors.ts';

/** What becomes of Ctrl-C and the like. */
export type Interrupt = {
  /** Aborts with the first of them. */
  readonly signal: AbortSignal;
  readonly hear: (name: SignalName) => void;
  /** The exit code once one was heard, 128 and the signal's number; undefined before. */
  readonly exitCode: () => number | undefined;
};

/** A terminal that is closed sends SIGHUP; Node makes of SIGPIPE an error of the stream. */
export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE';

export type InterruptOptions = {
  /** Told at the first one. */
  readonly say: (line: string) => void;
  /** Must end the process: called at the second one. */
  readonly quit: (exitCode: number, lastWords: string) => void;
  /** Whether what is running could be left half done. */
  readonly hasSafePoints: boolean;
};

/** The first one asks to stop where nothing is left half done, the second one ends the process at once. */
export function createInterrupt({ say, quit, hasSafePoints }: InterruptOptions): Interrupt {
  const controller = new AbortController();
  let heard: number | undefined;
  return {
    signal: controller.signal,
    exitCode: () => heard,
    hear: (name) => {
      if (heard !== undefined) {
        quit(codes[name], hasSafePoints ? quitLine : '');
        return;
      }
      heard = codes[name];
      if (hasSafePoints) say(name === 'SIGINT' ? `${stopLine}; Ctrl-C again quits at once` : stopLine);
      controller.abort(new ServiceError('cancelled', `Cannot go on: stopped by ${name}`));
    },
  };
}

/** https://tldp.org/LDP/abs/html/exitcodes.html */
const codes: Readonly<Record<SignalName, number>> = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 };

const stopLine = 'Stopping at the next point where nothing is left half done';
const quitLine = 'Quit at once: the next start of Upkeep finishes or undoes what was under way';
