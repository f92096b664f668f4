/** `2026-11-20T12:30:17Z`, for the time of a reply. */
export function toWholeSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -'.000Z'.length)}Z`;
}

/** Last fields of every JSON reply of `/v1`. */
export function replyFields(nowMs: number): { readonly timestamp: string; readonly api_version: 'v1' } {
  return { timestamp: toWholeSeconds(nowMs), api_version: 'v1' };
}

/** `2026-11-20T12:30:17.250Z`, for the time of an event. A time outside of the calendar becomes the epoch. */
export function toTimestamp(ms: number): string;
export function toTimestamp(ms: number | undefined): string | undefined;
export function toTimestamp(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '1970-01-01T00:00:00.000Z' : date.toISOString();
}

/** RFC 3339 with any fraction and offset, in milliseconds. Undefined for any other text. */
export function parseTimestamp(text: string): number | undefined {
  const [, date = '', time = '', fraction = '', offset = ''] =
    /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,30})?([Zz]|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  if (date === '') return undefined;
  const [, hours = '', minutes = ''] = /^[+-](\d\d):(\d\d)$/.exec(offset) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  // A leap second counts as the first second of the next minute, as in POSIX.
  const isLeap = time.endsWith(':60');
  const second = Date.parse(`${date}T${isLeap ? time.replace(/60$/, '59') : time}Z`);
  if (Number.isNaN(second) || !sameDay(date, second)) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (offset.startsWith('-') ? -1 : 1);
  return second + (isLeap ? 1000 : 0) + Number(`0${fraction}`) * 1000 - offsetMs;
}

/** `2026-02-31` would be read as a day in March. */
function sameDay(date: string, ms: number): boolean {
  return new Date(ms).toISOString().startsWith(date);
}
