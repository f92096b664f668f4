/**
 * Sets the time zone of the process, for all times in logs and tables. Node reads the variable again when it is set:
 * https://nodejs.org/api/cli.html#tz
 */
export function liveInTimeZone(zone: string): void {
  process.env['TZ'] = zone;
}
