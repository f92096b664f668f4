import { TemplateError } from '../values/fault.ts';
import { typeName } from '../values/truth.ts';
import { isDictionary, listOf, NamedInt, type Value } from '../values/value.ts';

/** Length; of a string in bytes of UTF-8. A nil value has length 0 here; Go refuses it. */
export function length(value: Value): bigint {
  if (value === undefined || value === null) return 0n;
  if (typeof value === 'string') return BigInt(new TextEncoder().encode(value).length);
  if (isDictionary(value)) return BigInt(value.size);
  const list = listOf(value);
  if (list === undefined) throw new TemplateError(`a ${typeName(value)} has no length`);
  return BigInt(list.length);
}

/** `index x 1 "a"` is `x[1]["a"]`; a byte's value for a string; a missing key of a map is nothing. */
export function index(value: Value, keys: readonly Value[]): Value {
  let found = value;
  if (found === undefined || found === null) throw new TemplateError('index of nothing');
  for (const key of keys) {
    const list = listOf(found);
    if (isDictionary(found)) {
      if (typeof key !== 'string') throw new TemplateError(`a map is indexed by a string, not by a ${typeName(key)}`);
      found = found.get(key) ?? undefined;
    } else if (list !== undefined) found = list[place(key, list.length - 1)];
    else if (typeof found === 'string') {
      const bytes = new TextEncoder().encode(found);
      found = BigInt(bytes[place(key, bytes.length - 1)] ?? 0);
    } else throw new TemplateError(`a ${typeName(found)} cannot be indexed`);
  }
  return found;
}

/** `slice x 1 3` is `x[1:3]`, in bytes for a string. */
export function slice(value: Value, bounds: readonly Value[]): Value {
  const list = listOf(value);
  if (list === undefined && typeof value !== 'string') throw new TemplateError(`a ${typeName(value)} cannot be sliced`);
  if (bounds.length > (list === undefined ? 2 : 3)) throw new TemplateError('slice has too many bounds');
  if (list !== undefined) return list.slice(...range(bounds, list.length));
  const bytes = new TextEncoder().encode(typeof value === 'string' ? value : '');
  return new TextDecoder().decode(bytes.subarray(...range(bounds, bytes.length)));
}

function range(bounds: readonly Value[], size: number): [number, number] {
  const places = bounds.map((bound) => place(bound, size));
  const [from = 0, to = size, most = size] = places;
  if (from > to || to > most) throw new TemplateError(`slice goes backwards, from ${from} to ${to}`);
  return [from, to];
}

function place(key: Value, last: number): number {
  const number = key instanceof NamedInt ? key.value : key;
  if (typeof number !== 'bigint') throw new TemplateError(`a place is an int, not a ${typeName(key)}`);
  if (number < 0n || number > BigInt(last)) throw new TemplateError(`the place ${number} is out of range`);
  return Number(number);
}
