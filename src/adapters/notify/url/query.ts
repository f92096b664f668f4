import type { ParameterTable, ValuesOf } from './parameters.ts';
import type { UrlParts } from './parts.ts';
import { InvalidUrlError } from './invalid-url-error.ts';

/** The query of a URL, read by a service's table. */
export type Query<Table extends ParameterTable> = {
  readonly values: ValuesOf<Table>;
  /** Keys of the table that the URL has. */
  readonly given: ReadonlySet<string>;
  /** The faults of values that are ignored: `the key "color" …`, without the values. */
  readonly faults: readonly string[];
  /** The other keys as written. A leading `__`, which forces a key into this list, is removed. */
  readonly others: UrlParts['query'];
};

/** Keys are matched in any case, and the first value of a key counts. Throws an `InvalidUrlError`. */
export function readQuery<Table extends ParameterTable>(table: Table, query: UrlParts['query']): Query<Table> {
  const keys = keysOf(table);
  const values: Record<string, unknown> = {};
  const others: (readonly [string, string])[] = [];
  const faults: string[] = [];
  for (const [written, value] of query) {
    const key = keys.get(written.toLowerCase());
    if (key === undefined) others.push([unescaped(written, keys), value]);
    else if (!Object.hasOwn(values, key)) readInto(values, key, value);
  }
  const given = new Set(Object.keys(values));
  for (const [key, { isRequired, fallback }] of Object.entries(table)) {
    if (given.has(key) && !(isRequired && isEmpty(values[key]))) continue;
    if (isRequired) throw new InvalidUrlError(`the key "${key}"`, 'is missing');
    values[key] = fallback;
  }
  // Every key of the table was read by its own parameter, or has its default.
  return { values: values as ValuesOf<Table>, given, faults, others };

  /** A decoration never costs the target: with a wrong value, its default counts. */
  function readInto(found: Record<string, unknown>, key: string, value: string): void {
    const parameter = table[key];
    try {
      found[key] = parameter?.read(value);
    } catch (error) {
      const why = error instanceof Error ? error.message : 'cannot be read';
      if (parameter?.isEssential !== false) throw new InvalidUrlError(`the key "${key}"`, why);
      if (value.trim() !== '') faults.push(`the key "${key}" ${why}`);
    }
  }
}

/** The reverse: pairs that parse to the same values, without the other keys. */
export function queryPairs<Table extends ParameterTable>(
  table: Table,
  { given, values }: Pick<Query<Table>, 'given' | 'values'>,
): UrlParts['query'] {
  return [...given].map((key) => [key, table[key]?.print(values[key]) ?? '']);
}

/** From each name and alias, in lower case, to the key. */
function keysOf(table: ParameterTable): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(table).flatMap(([key, { aliases }]) => [key, ...aliases].map((name) => [name.toLowerCase(), key])),
  );
}

function unescaped(written: string, keys: ReadonlyMap<string, string>): string {
  const name = written.replace(/^__/, '');
  return name !== written && keys.has(name.toLowerCase()) ? name : written;
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}
