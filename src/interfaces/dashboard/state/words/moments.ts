import { dayMs } from './numbers.ts';

const timeFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayFormat = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
const longDayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/** `04:02`, in the time zone of the browser. */
export function clock(atMs: number): string {
  return timeFormat.format(atMs);
}

/** `today`, `tomorrow`, `yesterday`, `Fri 20 Nov`, or with the year beyond 300 days. */
export function dayOf(atMs: number, nowMs: number): string {
  const days = Math.round((midnight(atMs) - midnight(nowMs)) / dayMs);
  if (days === 0) return 'today';
  if (days === 1) return 'tomorrow';
  if (days === -1) return 'yesterday';
  const isFar = Math.abs(days) > 300;
  return (isFar ? longDayFormat : dayFormat).format(atMs).replace(',', '');
}

/** `today 04:02` */
export function when(atMs: number, nowMs: number): string {
  return `${dayOf(atMs, nowMs)} ${clock(atMs)}`;
}

function midnight(atMs: number): number {
  return new Date(atMs).setHours(0, 0, 0, 0);
}
