/**
 * Makes the process live in a time zone, so that each time of day in logs and tables is of it. Node reads the
 * variable again when it is set: https://nodejs.org/api/cli.html#tz
 */
export function liveInTimeZone(zone: string): void {
  process.env['TZ'] = zone;
}
