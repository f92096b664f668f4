import { isJsonObject, parseJson } from '../../../domain/text/json-value.ts';

/** One key of a service's query: its parser and its meaning. `read` throws an error with the expected form. */
export type Parameter<Value> = {
  /** The kind of value, for the documentation. */
  readonly kind: string;
  readonly about: string;
  readonly aliases: readonly string[];
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly fallback: Value;
  readonly read: (text: string) => Value;
  /** The text that `read` parses to the value. A method, because parameters of all types must fit into one table. */
  print(value: Value): string;
};

export type ParameterTable = Readonly<Record<string, Parameter<unknown>>>;

export type ValuesOf<Table extends ParameterTable> = {
  readonly [Key in keyof Table]: Table[Key]['fallback'];
};

type Options<Value> = {
  readonly fallback?: Value;
  readonly aliases?: readonly string[];
  readonly isRequired?: true;
  readonly isSecret?: true;
};

export function text(about: string, options: Options<string> = {}): Parameter<string> {
  return define({ kind: 'text', about, fallback: '', read: same, print: same }, options);
}

export function flag(about: string, fallback: boolean, aliases: readonly string[] = []): Parameter<boolean> {
  return define(
    { kind: 'yes or no', about, fallback, read: readFlag, print: (value) => (value ? 'yes' : 'no') },
    { aliases },
  );
}

export function integer(about: string, bounds: { fallback: number; min: number; max: number }): Parameter<number> {
  const { fallback, min, max } = bounds;
  return define({
    kind: `number, ${min} to ${max}`,
    about,
    fallback,
    print: String,
    read(given) {
      const value = /^-?\d{1,9}$/.test(given.trim()) ? Number(given) : Number.NaN;
      if (value >= min && value <= max) return value;
      throw new Error(`is not a whole number from ${min} to ${max}`);
    },
  });
}

/** 24 bits, with or without `#` or `0x`; undefined: none. */
export function colour(about: string, fallback?: number): Parameter<number | undefined> {
  return define<number | undefined>({
    kind: 'colour',
    about,
    fallback,
    print: (value) => (value === undefined ? '' : `0x${hexColour(value)}`),
    read(given) {
      const [, digits] = /^(?:#|0x)?([0-9a-f]{1,6})$/i.exec(given.trim()) ?? [];
      if (digits === undefined) throw new Error('is not a colour such as %23ffc441');
      return Number.parseInt(digits, 16);
    },
  });
}

export function hexColour(value: number): string {
  return value.toString(16).padStart(6, '0');
}

/** Without empty items. */
export function list(
  about: string,
  options: Options<readonly string[]> & { readonly separator?: string } = {},
): Parameter<readonly string[]> {
  const { separator = ',' } = options;
  return define(
    {
      kind: `list, separated by ${separator === ',' ? 'commas' : 'semicolons'}`,
      about,
      fallback: [],
      print: (values) => values.join(separator),
      read: (given) =>
        given
          .split(separator)
          .map((item) => item.trim())
          .filter((item) => item !== ''),
    },
    options,
  );
}

/** Names are matched in any case, aliases exactly. Both map to the choice. */
export function choice<Name extends string>(
  about: string,
  names: readonly Name[],
  fallback: Name,
  synonyms: Readonly<Record<string, Name>> = {},
): Parameter<Name> {
  return define<Name>({
    kind: names.join(', '),
    about,
    fallback,
    print: same,
    read(given) {
      const wanted = given.trim();
      const found = names.find((name) => name.toLowerCase() === wanted.toLowerCase());
      const value = found ?? (Object.hasOwn(synonyms, wanted) ? synonyms[wanted] : undefined);
      if (value !== undefined) return value;
      throw new Error(`is none of ${names.join(', ')}`);
    },
  });
}

/** A JSON object, percent-encoded; undefined: none. */
export function jsonObject(about: string): Parameter<object | undefined> {
  return define<object | undefined>({
    kind: 'JSON object',
    about,
    fallback: undefined,
    print: (value) => JSON.stringify(value),
    read(given) {
      const value = parseJson(given);
      if (isJsonObject(value)) return value;
      throw new Error('is not a JSON object');
    },
  });
}

/** A parameter of a kind that the functions above do not have. */
export function define<Value>(
  kind: Omit<Parameter<Value>, 'aliases' | 'isRequired' | 'isSecret'>,
  options: Options<Value> = {},
): Parameter<Value> {
  const { fallback = kind.fallback, aliases = [], isRequired = false, isSecret = false } = options;
  return { ...kind, fallback, aliases, isRequired, isSecret };
}

function same<Text extends string>(value: Text): Text {
  return value;
}

function readFlag(given: string): boolean {
  const word = given.trim().toLowerCase();
  if (['true', '1', 'yes', 'y'].includes(word)) return true;
  if (['false', '0', 'no', 'n'].includes(word)) return false;
  throw new Error('is neither yes nor no');
}
