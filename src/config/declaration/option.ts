import type { CommandName } from './commands.ts';

/**
 * One option: everything that is known about it, as data. Flags, variables, `--help` and
 * `docs/configuration.md` all come from here.
 */
export type Option = BooleanOption | TextOption | IntegerOption | DurationOption | ListOption | ChoiceOption;

export type BooleanOption = Shared & {
  readonly kind: 'boolean';
  readonly default: boolean;
  /** Any value of the variable means true, as https://no-color.org asks. */
  readonly anyValueIsTrue?: boolean;
};

export type TextOption = Shared & {
  readonly kind: 'text';
  readonly default: string | undefined;
  readonly accepts?: Acceptance;
  /** A value that names an existing file stands for that file's trimmed content. */
  readonly mayNameFile?: boolean;
};

export type IntegerOption = Shared & {
  readonly kind: 'integer';
  readonly default: number | undefined;
  readonly min: number;
  readonly max: number;
};

/** Milliseconds. */
export type DurationOption = Shared & {
  readonly kind: 'duration';
  readonly default: number | undefined;
  readonly minMs: number;
  readonly maxMs: number;
  /** `M` is a month of 30 days. */
  readonly months?: boolean;
};

export type ListOption = Shared & {
  readonly kind: 'list';
  /** `url`: white space, and a comma where a URL comes after it. */
  readonly separators: 'comma' | 'comma or space' | 'url';
  readonly default: readonly string[];
  readonly accepts?: Acceptance;
  readonly atMost?: number;
  /** A value that names an existing file stands for that file's lines, but for those that begin with `#`. */
  readonly mayNameFile?: boolean;
};

export type ChoiceOption = Shared & {
  readonly kind: 'choice';
  /** Lower case; the user's case does not matter. */
  readonly choices: readonly string[];
  readonly default: string;
  /** Other spellings, each with the choice it stands for. */
  readonly aliases?: Readonly<Record<string, string>>;
};

/** A check of one value, with the words for what it lets through ("a port from 1 to 65535"). */
export type Acceptance = { readonly test: (text: string) => boolean; readonly expected: string };

type Shared = {
  readonly group: OptionGroup;
  /** Without dashes; absent when it can be set by a variable only. */
  readonly flag?: string;
  readonly short?: string;
  /** `X` is read as `UPKEEP_X`, then as `WATCHTOWER_X`; the first is the one to use. */
  readonly env?: readonly string[];
  /** Variables that belong to others and are read under their own name: `DOCKER_HOST`. */
  readonly plainEnv?: readonly string[];
  /** Name of the value in the help. */
  readonly placeholder?: string;
  /** A sentence without a final period. */
  readonly meaning: string;
  /** Text in docs and help in place of a default value. */
  readonly defaultMeaning?: string;
  readonly example: string;
  readonly commands: readonly CommandName[];
  /** Its value is never printed. */
  readonly secret?: boolean;
  /** Not for people: Upkeep tells itself with it, and shows it to nobody. */
  readonly internal?: true;
  /** Replacement of the option. */
  readonly deprecated?: string;
  /** Why it does nothing though it is understood, without a final period. */
  readonly withoutEffect?: string;
};

/** `config` takes what `run` does, because it shows what that would work with. */
export function takesOption(command: CommandName, option: Option): boolean {
  return option.commands.includes(command) || (command === 'config' && option.commands.includes('run'));
}

export const optionGroups = {
  selection: 'Selection',
  update: 'Updates',
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

/** The type of an option's value, from its entry in the table. */
export type ValueOf<O> = O extends { readonly kind: 'boolean' }
  ? boolean
  : O extends { readonly kind: 'list' }
    ? readonly string[]
    : O extends { readonly kind: 'choice'; readonly choices: readonly (infer C)[] }
      ? C
      : O extends { readonly kind: 'integer' | 'duration' }
        ? O extends { readonly default: number }
          ? number
          : number | undefined
        : O extends { readonly default: string }
          ? string
          : string | undefined;
