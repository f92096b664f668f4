import { readlinkSync } from 'node:fs';

/** The configured zone, else the machine's. */
export function timeZoneOf({ timeZone = '/etc/localtime' }: { readonly timeZone: string | undefined }): string {
  return zoneNameIn(timeZone) ?? localTimeZone();
}

/**
 * The time zone of the machine, as Node finds it. UTC is detected from the files alone, because the first use of
 * `Intl.DateTimeFormat` takes 10 MiB for as long as the process runs. https://man7.org/linux/man-pages/man5/localtime.5.html
 */
export function localTimeZone(): string {
  // Node cannot read that path. Without the variable it reads the file.
  if (zoneNameIn(process.env['TZ'] ?? '') === undefined) delete process.env['TZ'];
  return isOnUtc() ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/**
 * The zone in a value of TZ, also in the notation of Go and C: `:Europe/Berlin`, or the path of a file. Undefined for the
 * zone of the machine. https://man7.org/linux/man-pages/man3/tzset.3.html
 */
export function zoneNameIn(text: string): string | undefined {
  const name = text.replace(/^:?(?:\/usr\/share\/zoneinfo\/)?/, '');
  return name === '/etc/localtime' ? undefined : name;
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
