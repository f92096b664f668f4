/** Any JSON object. It is read field by field, because an older service lacks some fields. */
export type Json = Readonly<Record<string, unknown>>;

/** An object, or an empty one. */
export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** The objects of a list. Other items are omitted. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A text, or an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A count; 0 if it is absent. */
export function countOf(value: unknown): number {
  return Math.max(0, numberOf(value) ?? 0);
}

/** A time in RFC 3339 as milliseconds. */
export function timeOf(value: unknown): number | undefined {
  const ms = Date.parse(textOf(value));
  return Number.isNaN(ms) ? undefined : ms;
}

/** One of a closed list. */
export function oneOf<Word extends string>(words: readonly Word[], value: unknown): Word | undefined {
  return words.find((word) => word === value);
}

/** Numbers by name. */
export function numbersOf(value: unknown): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(objectOf(value)).flatMap(([name, item]) => (typeof item === 'number' ? [[name, item]] : [])),
  );
}

/** An address that may become a link: only http and https. */
export function linkOf(value: unknown): string {
  const text = textOf(value);
  return text.length <= 500 && /^https?:\/\/[^\s]+$/i.test(text) ? text : '';
}

/** The unique name of a container: `nas/web` with several engines. A service of a swarm is `web (service)`. */
export function uniqueName(name: string, engine: string, kind: unknown): string {
  const own = kind === 'service' && name !== '' ? `${name} (service)` : name;
  return engine === '' || name === '' ? own : `${engine}/${own}`;
}

/** The same for an entry, or for the data of an event. */
export function nameIn({ name, container, engine, kind }: Json): string {
  return uniqueName(textOf(name) || textOf(container), textOf(engine), kind);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
