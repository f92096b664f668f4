/** The fields for a known value; none for an unknown one. */
export function known<Value, Fields extends object>(
  value: Value | undefined,
  fieldsOf: (value: Value) => Fields,
): Partial<Fields> {
  return value === undefined ? {} : fieldsOf(value);
}
