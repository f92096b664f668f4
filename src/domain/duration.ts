export type DurationGrammar = {
  /** What a number without a unit counts; undefined: such a number is refused, except `0`. */
  readonly bareUnit?: 's' | 'm' | undefined;
  /** Whether `M` is a month of 30 days, as a cooldown delay may say. */
  readonly months?: boolean;
};

/**
 * `300ms`, `1.5s`, `1m30s`, `2d`, `1w` in whole milliseconds; undefined when it cannot be read or is
 * negative. Everything Go reads (https://pkg.go.dev/time#ParseDuration) is read the same, without the
 * sign. A positive duration is at least 1, because 0 means "none" to many settings.
 */
export function parseDuration(text: string, grammar: DurationGrammar = {}): number | undefined {
  if (text.length > longestText) return undefined;
  const trimmed = text.trim();
  const total = /^[\d.]+$/.test(trimmed) ? bareNumber(trimmed, grammar) : sumOfParts(trimmed, grammar);
  if (total === undefined || !(total <= longestMs)) return undefined;
  return total > 0 ? Math.max(1, Math.round(total)) : 0;
}

/** The shortest text that reads back as the same whole milliseconds: `1.25s`, `1m30s`, `10m`, `7d`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms));
  if (rest < 1000) return rest === 0 ? '0s' : `${rest}ms`;
  let text = '';
  for (const unit of ['d', 'h', 'm'] as const) {
    const count = Math.floor(rest / unitMs[unit]);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs[unit];
  }
  return rest > 0 ? `${text}${rest / 1000}s` : text;
}

const longestText = 64;

/** Go's longest duration, 2^63 nanoseconds: about 292 years. */
const longestMs = 2 ** 63 / 1e6;

const unitMs = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
} as const;

const monthMs = 30 * unitMs.d;

function bareNumber(text: string, { bareUnit }: DurationGrammar): number | undefined {
  const count = readNumber(text);
  if (count === undefined || count === 0) return count;
  return bareUnit === undefined ? undefined : count * unitMs[bareUnit];
}

function sumOfParts(text: string, { months = false }: DurationGrammar): number | undefined {
  let total = 0;
  let end = 0;
  for (const part of text.matchAll(/([\d.]+)(ns|us|µs|μs|ms|[smhdwM])/gy)) {
    const [whole, number = '', unit = ''] = part;
    const count = readNumber(number);
    const size = unit === 'M' ? (months ? monthMs : undefined) : sizeOf(unit);
    if (count === undefined || size === undefined) return undefined;
    total += count * size;
    end += whole.length;
  }
  return end === text.length && end > 0 ? total : undefined;
}

function readNumber(text: string): number | undefined {
  return /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : undefined;
}

function sizeOf(unit: string): number | undefined {
  return Object.entries(unitMs).find(([name]) => name === unit)?.[1];
}
