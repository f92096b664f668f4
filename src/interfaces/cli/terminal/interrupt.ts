import { ServiceError } from '../../../domain/text/errors.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import { printable } from '../../../domain/text/printable.ts';

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
        firstSignal = { exitCode: codes[name], atMs: monotonicMs() };
        if (hasSafePoints) say(name === 'SIGINT' ? `${stopLine}; Ctrl-C again after 2s quits at once` : stopLine);
        controller.abort(new ServiceError('cancelled', `Cannot continue: stopped by ${name}`));
      } else if (monotonicMs() - firstSignal.atMs >= repeatWindowMs) {
        quit(codes[name], hasSafePoints ? quitLine(underWay()) : '');
      }
    },
  };
}

/** https://tldp.org/LDP/abs/html/exitcodes.html */
const codes: Readonly<Record<SignalName, number>> = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 };

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
