import type { ValueKind } from '../values/label-values.ts';

/**
 * One option with all its facts as data. Type, flag, variables, label, `--help` and `docs/configuration.md` come from
 * here.
 */
export type DeclaredOption =
  | BooleanOption
  | TextOption
  | IntegerOption
  | DurationOption
  | ListOption
  | ChoiceOption
  | ParsedOption<unknown>;

type BooleanOption = Shared<boolean> & {
  readonly kind: 'boolean';
  readonly default: boolean;
  /** Any value of the variable means true, as https://no-color.org requires. */
  readonly anyValueIsTrue?: boolean;
};

type TextOption = Shared<string> & {
  readonly kind: 'text';
  readonly default: string | undefined;
  readonly accepts?: Acceptance;
  /** A value that names an existing file is replaced by that file's trimmed content. */
  readonly mayNameFile?: boolean;
  /** Quotation marks around the value are part of it. */
  readonly keepsQuotes?: true;
};

export type IntegerOption = Shared<number> & {
  readonly kind: 'integer';
  readonly default: number | undefined;
  readonly min: number;
  readonly max: number;
};

/** Milliseconds. */
export type DurationOption = Shared<number> & {
  readonly kind: 'duration';
  readonly default: number | undefined;
  readonly minMs: number;
  readonly maxMs: number;
  /** `M` is a month of 30 days. */
  readonly months?: boolean;
};

export type ListOption = Shared<readonly string[]> & {
  readonly kind: 'list';
  /** `url`: white space, and a comma that a URL follows. */
  readonly separators: 'comma' | 'comma or space' | 'url';
  readonly default: readonly string[];
  readonly accepts?: Acceptance;
  readonly atMost?: number;
  /** An empty value is refused, because it would mean everything. */
  readonly needsItem?: true;
  /** A value that names an existing file is replaced by that file's lines, without those that begin with `#`. */
  readonly mayNameFile?: boolean;
};

type ChoiceOption = Shared<string> & {
  readonly kind: 'choice';
  /** In lower case. The case of the user's value does not matter. */
  readonly choices: readonly string[];
  readonly default: string;
  /** Other spellings, each with its choice. */
  readonly aliases?: Readonly<Record<string, string>>;
};

/** A value with its own grammar. An empty text means the default. */
export type ParsedOption<Value> = Shared<Value> & {
  readonly kind: 'parsed';
  /** A list in this grammar: a repeated flag adds to it, and an empty one is refused, because it would drop a rule. */
  readonly isList?: true;
  readonly default: Value;
  readonly value: ValueKind<Value>;
};

/** A check of one value, with a text for the accepted values ("a port from 1 to 65535"). */
export type Acceptance = { readonly test: (text: string) => boolean; readonly expected: string };

type Shared<Value> = {
  readonly group: OptionGroup;
  /** Without dashes. Absent if only a variable can set it. */
  readonly flag?: string;
  readonly short?: string;
  /** `X` is read as `UPKEEP_X`, then as `WATCHTOWER_X`. The first is the preferred name; by default the flag's. */
  readonly env?: readonly string[];
  /** Variables of other tools, read under their own name: `DOCKER_HOST`. */
  readonly plainEnv?: readonly string[];
  /** Its variable is part of every session, so it is no choice of the user. */
  readonly isAmbient?: true;
  /** The label that sets it for one container. */
  readonly label?: OptionLabel<Value>;
  /** Name of the value in the help. */
  readonly placeholder?: string;
  /** A sentence without a final period. */
  readonly meaning: string;
  /** Text for docs and help instead of a default value. */
  readonly defaultMeaning?: string;
  readonly example: string;
  /** `--help` lists it. `--help --all` lists the others too. */
  readonly isCommon?: true;
  /** Its value is never printed. */
  readonly secret?: boolean;
  /** Set by Upkeep itself, and hidden from users. */
  readonly internal?: true;
  /** Replacement of the option. */
  readonly deprecated?: string;
  /** Why the option is accepted but has no effect, without a final period. */
  readonly withoutEffect?: string;
};

/** A label that a container, or its image, can carry. */
export type DeclaredLabel<Value> = {
  /** Without its prefix. */
  readonly name: string;
  readonly value: ValueKind<Value>;
  /**
   * Effect of the label if only the image has it. An image's author may say how its own container is treated. A label
   * that gives rights, names other containers or replaces the owner's options is ignored.
   */
  readonly fromImage: 'counts' | 'ignored';
  /** A sentence without a final period. */
  readonly meaning: string;
  readonly example: string;
};

/** The label of an option. Its meaning and example are the option's by default. */
export type OptionLabel<Value> = Pick<DeclaredLabel<Value>, 'name' | 'value' | 'fromImage'> &
  Partial<Pick<DeclaredLabel<Value>, 'meaning' | 'example'>> & {
    /**
     * `overrides`: the label takes precedence. `restrains`: the label can add a restriction, and can remove one only
     * with `label-take-precedence`. `lowers`: the smaller of the two numbers counts.
     */
    readonly effect: 'overrides' | 'restrains' | 'lowers';
    /** Completes the meaning that comes from the option: `0 for none`. */
    readonly note?: string;
  };

export const optionGroups = {
  selection: 'Selection',
  update: 'Updates',
  data: 'Data of containers',
  hooks: 'Lifecycle hooks',
  when: 'Schedule',
  state: 'State',
  engine: 'Engine',
  registry: 'Registries',
  http: 'HTTP API',
  remote: 'Connection to a running service',
  notifications: 'Notifications',
  output: 'Output and logs',
  accepted: 'Accepted without effect',
} as const;

export type OptionGroup = keyof typeof optionGroups;

/** The type of an option's value, from its declaration. */
type ValueOf<O> = O extends { readonly kind: 'boolean' }
  ? boolean
  : O extends { readonly kind: 'list' }
    ? readonly string[]
    : O extends { readonly kind: 'parsed'; readonly value: ValueKind<infer Value> }
      ? Value
      : O extends { readonly kind: 'choice'; readonly choices: readonly (infer C)[] }
        ? C
        : O extends { readonly kind: 'integer' | 'duration' }
          ? O extends { readonly default: number }
            ? number
            : number | undefined
          : O extends { readonly default: string }
            ? string
            : string | undefined;

/** The values of a table of options, by their keys. */
export type ValuesOf<Table> = { readonly [Key in keyof Table]: ValueOf<Table[Key]> };

/**
 * An option about the check and update of containers, and the work that it affects. `check`: each check. `selection`:
 * also a list of the watched containers. `signature`: also a rollback. `replacement`: also a rollback and a repair.
 */
export type ServiceOption = DeclaredOption & {
  readonly usedBy: 'check' | 'selection' | 'signature' | 'update' | 'replacement';
};

/** Options as they are written down, without the parts that their table shares, and without the usual parts. */
export type OptionParts<Each extends DeclaredOption, Shared extends keyof Each> = Readonly<
  Record<string, Parts<Each, Shared | 'default' | 'example'>>
>;

/** The options of a table of the domain. */
export type ServiceOptionParts = OptionParts<ServiceOption, 'group' | 'usedBy'>;

type Parts<Each, Optional extends keyof Each> = Each extends DeclaredOption
  ? Omit<Each, Optional> & Partial<Pick<Each, Optional>>
  : never;

/**
 * Completes the options of a table with the parts that they share, and with the usual parts: the variable of the flag's
 * name, no value by default, `true` as the example of a boolean. An option's own parts take precedence.
 */
export function optionTable<
  const Shared extends object,
  Table extends Readonly<Record<string, Pick<DeclaredOption, 'kind' | 'flag'>>>,
>(shared: Shared, table: Table): Completed<Shared, Table> {
  const entries = Object.entries(table).map(([key, option]) => [key, { ...usualParts(option), ...shared, ...option }]);
  // The same keys, each with its own entry and the other parts.
  return Object.fromEntries(entries) as Completed<Shared, Table>;
}

type Completed<Shared, Table> = {
  readonly [Key in keyof Table]: Omit<Shared & UsualParts<Table[Key]>, keyof Table[Key]> & Table[Key];
};

type UsualParts<Each> = Each extends { readonly kind: 'boolean' }
  ? { readonly default: false; readonly example: 'true' }
  : Each extends { readonly kind: 'list' }
    ? { readonly default: readonly [] }
    : Each extends { readonly kind: 'text' | 'integer' | 'duration' }
      ? { readonly default: undefined }
      : unknown;

function usualParts({ kind, flag }: Pick<DeclaredOption, 'kind' | 'flag'>) {
  const env = flag === undefined ? {} : { env: [flag.toUpperCase().replaceAll('-', '_')] };
  if (kind === 'boolean') return { ...env, default: false, example: 'true' };
  return { ...env, default: kind === 'list' ? [] : undefined };
}
