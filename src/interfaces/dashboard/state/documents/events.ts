import { numberOf, objectOf, textOf, timeOf, type Json } from './reading.ts';

/** An event of `GET /v1/events`. */
export type StreamEvent = { readonly kind: string; readonly data: Json; readonly atMs: number | undefined };

/** Undefined for a text that is not an event. */
export function readEvent(text: string): StreamEvent | undefined {
  try {
    const { type, data, timestamp } = objectOf(JSON.parse(text));
    const kind = textOf(type);
    return kind === '' ? undefined : { kind, data: objectOf(data), atMs: timeOf(timestamp) };
  } catch {
    return undefined;
  }
}

/** Whether begin or end of a scan are those of a check, which may run beside an update. An older service does not say. */
export function isOfCheck({ purpose }: Json): boolean {
  return purpose === 'check';
}

/** From 0 to 100, calculated from bytes without a percentage. */
export function percentOf({ percent, current_bytes: current, total_bytes: total }: Json): number | undefined {
  const bytes = numberOf(current);
  const all = numberOf(total);
  const value = numberOf(percent) ?? (bytes === undefined || !all ? undefined : (100 * bytes) / all);
  return value === undefined ? undefined : Math.min(100, Math.max(0, Math.round(value)));
}
