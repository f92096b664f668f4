import type { LogFields } from '../../domain/outside/outside.ts';

/** Removes secrets from messages and fields. */
export type Redaction = {
  readonly text: (text: string) => string;
  /** Names and values, as plain data with at most four levels, and 50 entries per object or list. */
  readonly fields: (fields: LogFields) => readonly Field[];
};

/**
 * Hides the given values, passwords in URLs, and fields with a sensitive name. Values of fewer than four characters
 * stay, because they would match ordinary text.
 */
export function createRedaction(secrets: readonly string[]): Redaction {
  const known = secrets.filter(({ length }) => length >= 4);
  const text = (raw: string): string => {
    let shown = raw.slice(0, longestText);
    for (const secret of known) if (shown.includes(secret)) shown = shown.replaceAll(secret, hidden);
    return shown.includes('://') ? shown.replace(passwordInUrl, `$1${hidden}@`) : shown;
  };
  const name = (raw: string): Name => ({ shown: text(raw), isSensitive: sensitiveName.test(raw) });
  return { text, fields: (fields) => plainEntries(fields, { text, name }, 1) };
}

const hidden = '***';
const longestText = 4000;
const mostEntries = 50;
const deepest = 4;

const passwordInUrl = /([a-z][a-z\d+.-]{0,20}:\/\/)[^\s/:]{0,256}:[^\s/]{0,1024}@/gi;
const sensitiveName = /pass(?:word|wd)?$|secret|token|authorization|credential|cookie|api-?key/i;

/** A field's name. The value of a sensitive name, e.g. `password`, is a secret. */
type Name = { readonly shown: string; readonly isSensitive: boolean };

type Redact = { readonly text: (raw: string) => string; readonly name: (raw: string) => Name };

/** Field names are in snake case, as in the documents of the API. */
function snakeCase(name: string): string {
  if (!/^[a-z][A-Za-z\d]*$/.test(name)) return name;
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A name, and plain data. */
export type Field = readonly [string, unknown];

function plainEntries(entries: LogFields, redact: Redact, depth: number): readonly Field[] {
  const shown: Field[] = [];
  for (const name of Object.keys(entries)) {
    const value = entries[name];
    if (value === undefined) continue;
    if (shown.length === mostEntries) break;
    const { shown: shownName, isSensitive } = redact.name(depth === 1 ? snakeCase(name) : name);
    const isSecret = isSensitive && typeof value === 'string' && value !== '';
    shown.push([shownName, isSecret ? hidden : plainValue(value, redact, depth)]);
  }
  return shown;
}

function plainValue(value: unknown, redact: Redact, depth: number): unknown {
  if (typeof value === 'string') return redact.text(value);
  if (typeof value === 'number') return Math.round(value * 10) / 10;
  if (typeof value === 'boolean' || value === null) return value;
  if (value instanceof Error) return redact.text(value.message);
  if (typeof value !== 'object') return typeof value === 'bigint' ? String(value) : typeof value;
  if (depth >= deepest) return Array.isArray(value) ? '[…]' : '{…}';
  if (Array.isArray(value))
    return value.slice(0, mostEntries).map((item: unknown) => plainValue(item, redact, depth + 1));
  return Object.fromEntries(plainEntries({ ...value }, redact, depth + 1));
}
