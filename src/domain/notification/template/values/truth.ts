import { Moment } from '../time/moment.ts';
import { isDictionary, Struct, isList, NamedInt, type Value } from './value.ts';

/** False: `false`, 0, nil, and empty texts, lists and maps. A struct is always true. */
export function isTrue(value: Value): boolean {
  if (value === undefined || value === null) return false;
  if (value instanceof NamedInt) return value.value !== 0n;
  if (value instanceof Moment) return true;
  if (value instanceof Struct) return value.forms.isList !== true || (value.forms.elements ?? []).length > 0;
  if (isDictionary(value)) return value.size > 0;
  if (isList(value)) return value.length > 0;
  return value !== false && value !== '' && value !== 0n && value !== 0 && !Number.isNaN(value);
}

/** Go's name of the type, for messages to users. */
export function typeName(value: Value): string {
  if (value === undefined || value === null) return 'nil';
  if (value instanceof NamedInt) return 'int';
  if (value instanceof Moment) return 'time.Time';
  if (value instanceof Struct) return value.typeName;
  if (isDictionary(value)) return 'map';
  if (isList(value)) return 'list';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
