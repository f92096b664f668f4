import type { Clock } from '../../../domain/outside/outside.ts';
import type { Terminal } from './terminal.ts';
import { displayWidth } from './width.ts';

/** The bottom lines of a terminal, redrawn when they change. */
export type LiveRegion = {
  /** Marks the lines as outdated. */
  readonly changed: () => void;
  /** Removes the lines. Later output begins in their place. */
  readonly end: () => void;
};

/** Size of the drawing area. Lines must fit into it. */
export type Room = { readonly columns: number; readonly rows: number };

/**
 * Keeps lines at the bottom of the terminal. Redraws them after a change, every second if they show time, and after a
 * resize, but at most ten times a second.
 */
export function createLiveRegion(
  terminal: Terminal,
  clock: Clock,
  lines: (room: Room) => readonly string[],
): LiveRegion {
  const { out } = terminal;
  const ending = new AbortController();
  let drawn: readonly string[] = [];
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let waiting = false;

  const draw = () => {
    if (ending.signal.aborted) return;
    const next = lines({ columns: Math.max(1, out.columns() - 1), rows: Math.max(1, out.rows() - 1) });
    lease.write(`${upTo(drawn, out.columns())}${next.map((line) => `${line}${clearLine}\n`).join('')}${clearBelow}`);
    drawn = next;
    drawnAtMs = clock.monotonicMs();
  };
  const clear = () => {
    lease.write(`${upTo(drawn, out.columns())}${clearBelow}`);
    drawn = [];
  };
  const changed = () => {
    if (waiting || ending.signal.aborted) return;
    const waitMs = drawnAtMs + shortestPauseMs - clock.monotonicMs();
    if (waitMs <= 0) {
      draw();
      return;
    }
    waiting = true;
    void waited(clock, waitMs, ending.signal).then(() => {
      waiting = false;
      draw();
    });
  };
  const tick = async () => {
    while (await waited(clock, tickMs, ending.signal)) changed();
  };

  const lease = terminal.takeBottomLines({ clear: clear, redraw: draw });
  const ignoreResizes = out.onResize(draw);
  draw();
  void tick();
  return {
    changed,
    end: () => {
      if (ending.signal.aborted) return;
      clear();
      ending.abort();
      ignoreResizes();
      lease.release();
    },
  };
}

const shortestPauseMs = 100;
const tickMs = 1000;

/** https://en.wikipedia.org/wiki/ANSI_escape_code#Control_Sequence_Introducer_commands */
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** Moves to the first drawn line. A terminal that has become narrower has wrapped the lines into more rows. */
function upTo(drawn: readonly string[], columns: number): string {
  let rows = 0;
  for (const line of drawn) rows += Math.max(1, Math.ceil(displayWidth(line) / columns));
  return rows === 0 ? '' : `\u001b[${rows}A\r`;
}

/** False if the signal ended the wait. */
async function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false;
  }
}
