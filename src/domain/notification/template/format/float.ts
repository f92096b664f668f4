/** Like Go's `%v` for a float: the shortest digits that identify it, with an exponent below -4 or from 6 on. */
export function shortestFloat(value: number): string {
  return formatFloat(value, 'g', undefined);
}

/** Go's `strconv.FormatFloat` for the verbs `e`, `f` and `g`; no precision means the shortest. */
export function formatFloat(value: number, verb: 'e' | 'f' | 'g', precision: number | undefined): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (verb === 'g') return sign + general(size, precision);
  return sign + (verb === 'e' ? scientific(size, precision) : fixed(size, precision));
}

function general(size: number, precision: number | undefined): string {
  const wanted = precision === 0 ? 1 : precision;
  const decimal = wanted === undefined ? shortest(size) : rounded(size, () => wanted);
  const digits = decimal.digits.replace(/0+$/, '') || '0';
  const exponent = size === 0 ? 0 : decimal.point - 1;
  if (exponent < -4 || exponent >= threshold(wanted, digits.length, decimal.point))
    return withExponent(digits, exponent);
  return placePoint({ digits, point: size === 0 ? 1 : decimal.point });
}

/** The exponent from which Go uses exponent notation: https://pkg.go.dev/strconv#FormatFloat */
function threshold(wanted: number | undefined, digits: number, point: number): number {
  if (wanted === undefined) return 6;
  return wanted > digits && digits >= point ? digits : wanted;
}

function scientific(size: number, precision: number | undefined): string {
  const decimal = precision === undefined ? shortest(size) : rounded(size, () => precision + 1);
  const digits = precision === undefined ? decimal.digits : decimal.digits.padEnd(precision + 1, '0');
  return withExponent(digits, size === 0 ? 0 : decimal.point - 1);
}

function fixed(size: number, precision: number | undefined): string {
  if (precision === undefined) return placePoint(shortest(size));
  const decimal = rounded(size, ({ point }) => point + precision);
  const text = placePoint(decimal);
  const [whole = '0', fraction = ''] = text.split('.');
  return precision === 0 ? whole : `${whole}.${fraction.padEnd(precision, '0')}`;
}

function withExponent(digits: string, exponent: number): string {
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** `digits` with the decimal point after the first `point` of them. */
type Decimal = { readonly digits: string; readonly point: number };

function placePoint({ digits, point }: Decimal): string {
  if (point <= 0) return digits === '0' || digits === '' ? '0' : `0.${'0'.repeat(-point)}${digits}`;
  if (digits.length <= point) return digits.padEnd(point, '0');
  return `${digits.slice(0, point)}.${digits.slice(point)}`;
}

function shortest(size: number): Decimal {
  const [mantissa = '0', exponent = '0'] = size.toExponential().split('e');
  return { digits: mantissa.replace('.', ''), point: Number(exponent) + 1 };
}

/** Rounds half to even to a number of digits, from all digits of the float. */
function rounded(size: number, countOf: (exact: Decimal) => number): Decimal {
  const exact = everyDigit(size);
  const count = countOf(exact);
  if (count >= exact.digits.length) return exact;
  if (count < 0) return { digits: '', point: 0 };
  const kept = exact.digits.slice(0, count);
  const half = `5${'0'.repeat(exact.digits.length - count - 1)}`;
  const rest = exact.digits.slice(count);
  const isOdd = Number(kept.at(-1) ?? 0) % 2 === 1;
  if (rest < half || (rest === half && !isOdd)) return { digits: kept, point: exact.point };
  const up = String(BigInt(`0${kept}`) + 1n).padStart(count, '0');
  return up.length > count
    ? { digits: up.slice(0, Math.max(count, 1)), point: exact.point + 1 }
    : { digits: up, point: exact.point };
}

/** The decimal expansion, which is finite: a mantissa of 53 bits times a power of two. */
function everyDigit(size: number): Decimal {
  if (size === 0) return { digits: '', point: 0 };
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, size);
  const raw = bits.getBigUint64(0);
  const biased = Number(raw >> 52n) & 0x7ff;
  const fraction = raw & ((1n << 52n) - 1n);
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const exponent = (biased === 0 ? 1 : biased) - 1075;
  const scaled = exponent >= 0 ? mantissa << BigInt(exponent) : mantissa * 5n ** BigInt(-exponent);
  const all = String(scaled);
  return { digits: all.replace(/0+$/, ''), point: all.length + Math.min(exponent, 0) };
}
