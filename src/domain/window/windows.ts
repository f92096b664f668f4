import type { TimeZone } from '../schedule/time-zone.ts';
import type { Window } from './window-grammar.ts';

/**
 * The times at which updates may begin: while the wall clock of the time zone shows a time inside a window. A window is
 * longer when the clocks repeat one of its hours, and does not open when they skip the whole window.
 */
export type Windows = {
  /** Both in milliseconds since the epoch. */
  readonly isOpen: (atMs: number) => boolean;
  /** The first opening at or after `atMs`. */
  readonly nextOpening: (atMs: number) => number;
};

/** At least one window. */
export function createWindows(windows: readonly Window[], zone: TimeZone): Windows {
  function isOpen(atMs: number): boolean {
    const wallMs = atMs + zone.offsetMs(atMs);
    return windows.some((window) => isInside(window, wallMs));
  }

  function nextOpening(atMs: number): number {
    if (isOpen(atMs)) return atMs;
    const today = Math.floor((atMs + zone.offsetMs(atMs)) / dayMs);
    for (let day = today; day <= today + mostDays; day += 1) {
      const found = edgesOn(day).filter((edgeMs) => edgeMs > atMs && isOpen(edgeMs));
      if (found.length > 0) return Math.min(...found);
    }
    throw new Error('a window opens at least every second week');
  }

  /** All instants of a day at which a window may open: window starts and clock changes. */
  function edgesOn(day: number): readonly number[] {
    const [fromMs, untilMs] = [zone.firstInstantOf(day * dayMs), zone.firstInstantOf((day + 1) * dayMs)];
    const offsets = new Set([zone.offsetMs(fromMs), zone.offsetMs(untilMs)]);
    const beginnings = windows
      .filter(({ days }) => days.includes(weekdayOf(day)))
      .flatMap(({ fromMinute }) => [...offsets].map((offset) => day * dayMs + fromMinute * minuteMs - offset));
    return [fromMs, zone.changeBetween(fromMs, untilMs) ?? fromMs, ...beginnings];
  }

  return { isOpen, nextOpening };
}

/** The clocks can skip a window once, even a whole day as in Samoa in 2011, but not again a week later. */
const mostDays = 15;

const minuteMs = 60_000;
const dayMs = 86_400_000;

function isInside({ days, fromMinute, untilMinute }: Window, wallMs: number): boolean {
  const day = Math.floor(wallMs / dayMs);
  const minute = (wallMs - day * dayMs) / minuteMs;
  if (days.includes(weekdayOf(day)) && minute >= fromMinute && minute < untilMinute) return true;
  return days.includes(weekdayOf(day - 1)) && minute + dayMs / minuteMs < untilMinute;
}

/** The epoch began on a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}
