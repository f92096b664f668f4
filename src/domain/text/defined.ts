/** The same fields, without those that are undefined. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  // Only undefined values are omitted.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
