/** The abbreviation of a zone at a time (`CET`, `-03`): https://www.iana.org/time-zones */
export function abbreviationOf(unixMs: number, zone: string, offsetSeconds: number): string {
  const key = `${zone} ${offsetSeconds}`;
  const known = names.get(key);
  if (known !== undefined) return known;
  if (names.size >= mostNames) names.clear();
  const name = inTable(zone, offsetSeconds / 3600) ?? inLocales(unixMs, zone) ?? numeric(offsetSeconds);
  names.set(key, name);
  return name;
}

/** By zone and offset, because each lookup costs some milliseconds. */
const names = new Map<string, string>();
const mostNames = 64;

/**
 * Node has abbreviations of a zone only in the locale of its country. For these zones it has none, or others than the
 * database.
 */
const table: Readonly<Record<string, string>> = {
  'America/Adak': '-10 HST -9 HDT',
  'America/Dawson': '-7 MST',
  'America/Havana': '-5 CST -4 CDT',
  'America/Hermosillo': '-7 MST',
  'America/Mazatlan': '-7 MST',
  'America/St_Johns': '-3.5 NST -2.5 NDT',
  'America/Whitehorse': '-7 MST',
  'Antarctica/Casey': '8 +08',
  'Antarctica/Troll': '0 +00 2 +02',
  'Asia/Colombo': '5.5 +0530',
  'Asia/Dubai': '4 +04',
  'Asia/Hong_Kong': '8 HKT',
  'Asia/Jakarta': '7 WIB',
  'Asia/Jayapura': '9 WIT',
  'Asia/Jerusalem': '2 IST 3 IDT',
  'Asia/Karachi': '5 PKT',
  'Asia/Macau': '8 CST',
  'Asia/Makassar': '8 WITA',
  'Asia/Manila': '8 PST',
  'Asia/Muscat': '4 +04',
  'Asia/Pontianak': '7 WIB',
  'Asia/Pyongyang': '9 KST',
  'Asia/Seoul': '9 KST',
  'Asia/Shanghai': '8 CST',
  'Asia/Taipei': '8 CST',
  'Australia/Eucla': '8.75 +0845',
  'Australia/Lord_Howe': '10.5 +1030 11 +11',
  'Europe/Dublin': '1 IST',
  'Europe/Guernsey': '1 BST',
  'Europe/Isle_of_Man': '1 BST',
  'Europe/Jersey': '1 BST',
  'Europe/Kirov': '3 MSK',
  'Europe/Moscow': '3 MSK',
  'Europe/Simferopol': '3 MSK',
  'Europe/Volgograd': '3 MSK',
  GMT: '0 GMT',
  'Pacific/Guam': '10 ChST',
  'Pacific/Midway': '-11 SST',
  'Pacific/Pago_Pago': '-11 SST',
  'Pacific/Saipan': '10 ChST',
};

function inTable(zone: string, offsetHours: number): string | undefined {
  const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions();
  const words = (table[zone] ?? table[timeZone] ?? '').split(' ');
  const place = words.indexOf(String(offsetHours));
  return place === -1 ? undefined : words[place + 1];
}

const locales = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'ja-JP', 'en-ZA'] as const;

function inLocales(unixMs: number, zone: string): string | undefined {
  for (const locale of locales) {
    const parts = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' }).formatToParts(unixMs);
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
    if (/^[A-Z]{3,5}$/.test(name)) return name;
  }
  return undefined;
}

/** Go's form for a zone without letters. */
function numeric(offsetSeconds: number): string {
  const size = Math.abs(offsetSeconds);
  const [hours, minutes] = [Math.floor(size / 3600), Math.floor(size / 60) % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${offsetSeconds < 0 ? '-' : '+'}${hours}${minutes === '00' ? '' : minutes}`;
}
