import { formatDuration } from '../../../domain/text/duration.ts';

/** `down for 6.62s, 6s of it stopping`; empty where nothing was stopped. */
export function sayDowntime(downtimeMs: number | undefined, stoppingMs: number | undefined): string {
  if (downtimeMs === undefined) return '';
  const down = `down for ${formatDuration(Math.round(downtimeMs))}`;
  return stoppingMs === undefined ? down : `${down}, ${formatDuration(Math.round(stoppingMs))} of it stopping`;
}
