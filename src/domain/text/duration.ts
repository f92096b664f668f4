export type DurationGrammar = {
  /** Unit of a bare number; undefined: a bare number other than `0` is refused. */
  readonly bareUnit?: 's' | 'm' | undefined;
  /** Whether `M` is a month of 30 days, as in a cooldown. */
  readonly months?: boolean;
  /** True if a longer duration than Go's maximum counts as infinite, for callers with their own limit. */
  readonly endless?: boolean;
};

/**
 * Reads `300ms`, `1.5s`, `1m30s`, `2d`, `1w` as whole milliseconds. Undefined when it cannot be read or is negative.
 * Everything that Go reads (https://pkg.go.dev/time#ParseDuration) is read in the same way, without the sign. A
 * positive duration is at least 1, because 0 means "none" in many settings.
 */
export function parseDuration(text: string, grammar: DurationGrammar = {}): number | undefined {
  if (text.length > maxTextLength) return undefined;
  const trimmed = text.trim();
  const total = /^[\d.]+$/.test(trimmed) ? bareNumber(trimmed, grammar) : sumOfParts(trimmed, grammar);
  if (total === undefined) return undefined;
  if (!(total <= maxMs)) return grammar.endless ? Infinity : undefined;
  return total > 0 ? Math.max(1, Math.round(total)) : 0;
}

/**
 * The text for a duration, `1.25s`, `1m30s`, `7d`, which parses to the same whole milliseconds. A negative one is `0s`.
 * `rounded`: tenths of a second below a minute, whole seconds above, as for a downtime: `640ms`, `4.9s`, `1m12s`.
 * `one unit`, and at least a second, as for an age: `42s`, `12m`, `47h`, `3d`.
 */
export function formatDuration(ms: number, precision: 'exact' | 'rounded' | 'one unit' = 'exact'): string {
  let rest = Math.max(0, Math.round(precision === 'exact' ? ms : rounded(ms, precision)));
  if (rest < 1000) return rest === 0 ? '0s' : `${rest}ms`;
  let text = '';
  for (const [unit, size] of shownUnits) {
    if (precision === 'one unit' && unit === 'd' && rest < 2 * dayMs) continue;
    if (rest >= size) text += `${Math.floor(rest / size)}${unit}`;
    rest %= size;
  }
  return rest > 0 ? `${text}${rest / 1000}s` : text;
}

/** `2026-01-31T12:00Z`, in whole minutes. */
export function printTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'the end of time' : `${date.toISOString().slice(0, -':00.000Z'.length)}Z`;
}

/** No rounded number reaches the next unit: 59.97 seconds are a minute. */
function rounded(ms: number, precision: 'rounded' | 'one unit'): number {
  const to = (unit: number) => Math.max(unit, Math.round(ms / unit) * unit);
  if (precision === 'rounded') return ms < 1000 ? ms : to(ms < 59_950 ? 100 : 1000);
  if (ms < 59_500) return to(1000);
  if (ms < 59.5 * 60_000) return to(60_000);
  return to(ms < 2 * dayMs ? 3_600_000 : dayMs);
}

const maxTextLength = 64;

const dayMs = 86_400_000;

/** Go's longest duration, 2^63 nanoseconds: about 292 years. */
const maxMs = 2 ** 63 / 1e6;

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['\u00b5s', 1e-3],
  ['\u03bcs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', dayMs],
  ['w', 7 * dayMs],
]);

const shownUnits = [
  ['d', dayMs],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

function bareNumber(text: string, { bareUnit }: DurationGrammar): number | undefined {
  const count = readNumber(text);
  if (count === undefined || count === 0) return count;
  const size = bareUnit === undefined ? undefined : unitMs.get(bareUnit);
  return size === undefined ? undefined : count * size;
}

function sumOfParts(text: string, { months = false }: DurationGrammar): number | undefined {
  let total = 0;
  let end = 0;
  for (const [whole, number = '', unit = ''] of text.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+|M)/gy)) {
    const count = readNumber(number);
    const size = unit === 'M' && months ? 30 * dayMs : unitMs.get(unit);
    if (count === undefined || size === undefined) return undefined;
    total += count * size;
    end += whole.length;
  }
  return end === text.length && end > 0 ? total : undefined;
}

function readNumber(text: string): number | undefined {
  return /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : undefined;
}
