import { readlinkSync } from 'node:fs';

/**
 * The time zone of the machine, as Node finds it. UTC is detected from the files alone, because the first use of
 * `Intl.DateTimeFormat` takes 10 MiB for as long as the process runs. https://man7.org/linux/man-pages/man5/localtime.5.html
 */
export function localTimeZone(): string {
  return isOnUtc() ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function isOnUtc(): boolean {
  if (process.env['TZ']) return false;
  try {
    return /\/zoneinfo\/(Etc\/)?UTC$/.test(readlinkSync('/etc/localtime'));
  } catch {
    // No link: the file may be missing, or a copy of any zone.
    return false;
  }
}

/**
 * Sets the time zone of the process, for all times in logs and tables. Node reads the variable again when it is set:
 * https://nodejs.org/api/cli.html#tz
 */
export function setProcessTimeZone(zone: string): void {
  process.env['TZ'] = zone;
}
