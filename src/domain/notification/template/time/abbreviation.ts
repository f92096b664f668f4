/** The locales that name a zone as people there do; the others get an offset. */
const locales = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'ja-JP', 'en-ZA', 'ko-KR'] as const;

/** What the time zone database calls a zone at a time (`CET`, `-03`): https://www.iana.org/time-zones */
export function abbreviationOf(unixMs: number, zone: string, offsetSeconds: number): string {
  const key = `${zone} ${offsetSeconds}`;
  const known = names.get(key);
  if (known !== undefined) return known;
  if (names.size >= mostNames) names.clear();
  const name = look(unixMs, zone) ?? numeric(offsetSeconds);
  names.set(key, name);
  return name;
}

/** By zone and offset, because asking costs some milliseconds. */
const names = new Map<string, string>();
const mostNames = 64;

function look(unixMs: number, zone: string): string | undefined {
  for (const locale of locales) {
    const parts = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' }).formatToParts(unixMs);
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
    if (/^[A-Z]{3,5}$/.test(name)) return name;
  }
  return undefined;
}

function numeric(offsetSeconds: number): string {
  const size = Math.abs(offsetSeconds);
  const [hours, minutes] = [Math.floor(size / 3600), Math.floor(size / 60) % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${offsetSeconds < 0 ? '-' : '+'}${hours}${minutes === '00' ? '' : minutes}`;
}
