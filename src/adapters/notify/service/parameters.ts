import { isJsonObject, parseJson } from '../../../domain/text/json.ts';

/** One key of a service's query: its parser and its meaning. `read` throws an error with the expected form. */
export type Parameter<Value> = {
  /** The kind of value, for the documentation. */
  readonly kind: string;
  readonly about: string;
  readonly aliases: readonly string[];
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  /** Whether a wrong value makes the target unusable: it decides where a message goes, or how it is protected. */
  readonly isEssential: boolean;
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
  readonly isEssential?: true;
};

export function text(about: string, options: Options<string> = {}): Parameter<string> {
  return define({ kind: 'text', about, fallback: '', read: same, print: same }, options);
}

/** The title of messages that have none of their own. The reference page describes it once for all services. */
export const defaultTitle = text('for messages without a title');

export function flag(about: string, fallback: boolean, aliases: readonly string[] = []): Parameter<boolean> {
  return define(
    { kind: 'yes or no', about, fallback, read: readFlag, print: (value) => (value ? 'yes' : 'no') },
    { aliases },
  );
}

/** Without a fallback, its meaning has the default. */
export function integer<Fallback extends number | undefined = undefined>(
  about: string,
  bounds: { fallback?: Fallback; min: number; max: number },
): Parameter<number | Fallback> {
  const { min, max } = bounds;
  // An absent fallback has the type `undefined`.
  const fallback = bounds.fallback as Fallback;
  return define<number | Fallback>({
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

/** The parameter, whose wrong value makes the target unusable. */
export function essential<Value>(parameter: Parameter<Value>): Parameter<Value> {
  return { ...parameter, isEssential: true };
}

/** 24 bits in hexadecimal with or without `#` or `0x`, or in decimal, or a name; undefined: none. */
export function colour(about: string, fallback?: number): Parameter<number | undefined> {
  return define<number | undefined>({
    kind: 'colour',
    about,
    fallback,
    print: (value) => (value === undefined ? '' : `0x${hexColour(value)}`),
    read(given) {
      const word = given.trim().toLowerCase();
      const [, digits] = /^(?:#|0x)?([0-9a-f]{1,6})$/.exec(word) ?? [];
      // Six digits are hexadecimal, as with Discord. More can only be decimal.
      const value = digits === undefined && /^\d{7,8}$/.test(word) ? Number(word) : Number.parseInt(digits ?? '', 16);
      const named = Object.hasOwn(colourNames, word) ? colourNames[word] : undefined;
      const found = named ?? value;
      if (found <= 0xffffff) return found;
      throw new Error('is not a colour such as %23ffc441');
    },
  });
}

/** The words of Slack, https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments, and of CSS. */
const colourNames: Readonly<Record<string, number>> = {
  ...{ good: 0x2eb886, warning: 0xdaa038, danger: 0xa30200, attention: 0xa30200, accent: 0x2488ff },
  ...{ black: 0x000000, white: 0xffffff, gray: 0x808080, grey: 0x808080, silver: 0xc0c0c0, brown: 0xa52a2a },
  ...{ red: 0xff0000, orange: 0xffa500, yellow: 0xffff00, green: 0x008000, blue: 0x0000ff, purple: 0x800080 },
  ...{ pink: 0xffc0cb, magenta: 0xff00ff, cyan: 0x00ffff, aqua: 0x00ffff, lime: 0x00ff00, teal: 0x008080 },
  ...{ navy: 0x000080, maroon: 0x800000, olive: 0x808000, gold: 0xffd700, violet: 0xee82ee, indigo: 0x4b0082 },
};

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

/** Names are matched in any case, aliases exactly. Both map to the choice. Without a fallback, its meaning has the default. */
export function choice<const Name extends string, Fallback extends Name | undefined>(
  about: string,
  names: readonly Name[],
  fallback: Fallback,
  synonyms: Readonly<Record<string, Name>> = {},
  aliases: readonly string[] = [],
): Parameter<Name | Fallback> {
  const kind = {
    kind: names.join(', '),
    about,
    fallback,
    print: (value: Name | Fallback) => value ?? '',
    read(given: string) {
      const wanted = given.trim();
      const found = names.find((name) => name.toLowerCase() === wanted.toLowerCase());
      const value = found ?? (Object.hasOwn(synonyms, wanted) ? synonyms[wanted] : undefined);
      if (value !== undefined) return value;
      throw new Error(`is none of ${names.join(', ')}`);
    },
  };
  return define<Name | Fallback>(kind, { aliases });
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
  kind: Omit<Parameter<Value>, 'aliases' | 'isRequired' | 'isSecret' | 'isEssential'>,
  options: Options<Value> = {},
): Parameter<Value> {
  const { fallback = kind.fallback, aliases = [], isRequired = false, isSecret = false } = options;
  const isEssential = isRequired || isSecret || options.isEssential === true;
  return { ...kind, fallback, aliases, isRequired, isSecret, isEssential };
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
