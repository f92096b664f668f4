/** The fields for a value that is known; none for one that is not. */
export function known<Value, Fields extends object>(
  value: Value | undefined,
  fieldsOf: (value: Value) => Fields,
): Partial<Fields> {
  return value === undefined ? {} : fieldsOf(value);
}
