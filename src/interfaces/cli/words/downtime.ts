import { formatDuration } from '../../../domain/text/duration.ts';

/** `down for 6.6s, 6s of it stopping`; empty if nothing was stopped. */
export function sayDowntime(downtimeMs: number | undefined, stoppingMs: number | undefined): string {
  if (downtimeMs === undefined) return '';
  const down = `down for ${sayRoughly(downtimeMs)}`;
  return stoppingMs === undefined ? down : `${down}, ${sayRoughly(stoppingMs)} of it stopping`;
}

/** Whole milliseconds below a second, tenths of a second above. */
export function sayRoughly(ms: number): string {
  return formatDuration(ms < 1000 ? Math.round(ms) : Math.round(ms / 100) * 100);
}
