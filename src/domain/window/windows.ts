import type { TimeZone } from '../schedule/time-zone.ts';
import type { Window } from './window-grammar.ts';

/**
 * When updates may begin: whenever a clock on the wall of the time zone shows a time inside one of the windows. So a
 * window lasts an hour longer where the clocks repeat one of its hours, and does not open where they skip all of it.
 */
export type Windows = {
  /** Both in milliseconds since the epoch. */
  readonly isOpen: (atMs: number) => boolean;
  /** The first instant, not before `atMs`, at which one is open: `atMs` itself if one is. */
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

  /** All instants of a wall's day at which a window may open: its beginnings, and when the clocks are changed. */
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

/** The clocks can skip a window once, even a whole day as in Samoa in 2011, and not again a week later. */
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
