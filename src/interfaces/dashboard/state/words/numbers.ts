/** A no-break space, so that a number and its unit stay on one line. */
const space = '\u00A0';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** `4 min`: a duration in one unit. */
export function duration(ms: number): string {
  if (ms < 59_500) return `${Math.max(1, Math.round(ms / 1000))}${space}s`;
  if (ms < 59.5 * minuteMs) return `${Math.round(ms / minuteMs)}${space}min`;
  if (ms < 2 * dayMs) return `${Math.round(ms / hourMs)}${space}h`;
  return `${Math.round(ms / dayMs)}${space}d`;
}

/** Like `duration`, but at least a minute, because seconds would change every row each time. */
export function age(ms: number): string {
  return duration(Math.max(minuteMs, ms));
}

/** `640 ms`, `4.9 s`, `1 min 12 s`: a downtime or the time of a step. */
export function preciseDuration(ms: number): string {
  if (ms < 950) return `${Math.round(ms)}${space}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}${space}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}${space}min ${seconds % 60}${space}s`;
}

/** `412 MB`: decimal units, as in registries. */
export function size(bytes: number): string {
  const megabytes = bytes / 1e6;
  if (megabytes < 0.9995) return `${Math.max(1, Math.round(bytes / 1000))}${space}kB`;
  return megabytes < 999.5 ? `${Math.round(megabytes)}${space}MB` : `${(megabytes / 1000).toFixed(1)}${space}GB`;
}

/** Keeps numbers and units of a given sentence on one line. */
export function withNoBreakSpaces(sentence: string): string {
  return sentence.replaceAll(/(\d) (?=(?:s|ms|min|h|d|kB|MB|GB|%)(?![\p{L}\p{N}]))/gu, `$1${space}`);
}
