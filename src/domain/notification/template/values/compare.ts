import { TemplateError } from './fault.ts';
import { typeName } from './truth.ts';
import { compareText, isDictionary, isList, NamedInt, type Value } from './value.ts';

/** Go's `eq`. Values of different types are an error, and nothing is only equal to nothing. */
export function equals(left: Value, right: Value): boolean {
  const [one, other] = [basic(left), basic(right)];
  if (one === undefined || other === undefined) return one === other;
  if (typeof one !== typeof other) throw incomparable(left, right);
  if (typeof one === 'object' && (isList(one) || isDictionary(one))) throw incomparable(left, right);
  return one === other;
}

/** Go's `lt`: numbers of one type, or strings. */
export function isLess(left: Value, right: Value): boolean {
  const [one, other] = [basic(left), basic(right)];
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other) < 0;
  if (typeof one === 'bigint' && typeof other === 'bigint') return one < other;
  if (typeof one === 'number' && typeof other === 'number') return one < other;
  throw incomparable(left, right);
}

function basic(value: Value): Exclude<Value, null | NamedInt> {
  if (value instanceof NamedInt) return value.value;
  return value ?? undefined;
}

function incomparable(left: Value, right: Value): TemplateError {
  return new TemplateError(`a ${typeName(left)} cannot be compared with a ${typeName(right)}`);
}
