/** A date as the version: `20240801`, `2024-08-01`, `20240801T120000Z`, `2024-08-01T12-00-00Z`. */
export type WrittenDate = {
  /** The form, with 0 for each digit: `0000-00-00`. */
  readonly form: string;
  /** Year, month, day, and for a timestamp the seconds since midnight. */
  readonly numbers: readonly number[];
  /** In characters. */
  readonly length: number;
};

/** The date at the beginning of a text; undefined without one. */
export function readDate(text: string): WrittenDate | undefined {
  const [written = '', year, , month, day, hour, minute, second] = dateGrammar.exec(text) ?? [];
  const date = [Number(year), Number(month), Number(day)];
  if (written === '' || !isDay(date)) return undefined;
  const found = { form: written.replaceAll(/\d/g, '0'), length: written.length };
  if (hour === undefined) return { ...found, numbers: date };
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0);
  return { ...found, numbers: [...date, seconds] };
}

const dateGrammar =
  /^(20\d\d)(-?)([01]\d)\2([0-3]\d)(?:[T._-]?([0-2]\d)[-:]?([0-5]\d)(?:[-:]?([0-5]\d))?Z?)?(?![\d.]*\d)/;

function isDay([, month = 0, day = 0]: readonly number[]): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}
