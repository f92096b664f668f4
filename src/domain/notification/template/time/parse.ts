import { Moment } from './moment.ts';
import { wallClock } from './zone.ts';

/** The time in an RFC 3339 text, to the millisecond. It is in the local zone if its offset is the local one. */
export function parseRfc3339(text: string, localZone: string): Moment | undefined {
  const parts = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(Z|([+-])(\d\d):(\d\d))$/.exec(text);
  const unixMs = parts === null || text.length > 64 ? NaN : Date.parse(text.replace(',', '.'));
  if (parts === null || Number.isNaN(unixMs)) return undefined;
  const [, zone, sign, hours, minutes] = parts;
  if (zone === 'Z') return new Moment(unixMs, 'UTC', localZone);
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  const local = new Moment(unixMs, localZone);
  return wallClock(local).offsetSeconds === offset * 60 ? local : new Moment(unixMs, offset, localZone);
}
