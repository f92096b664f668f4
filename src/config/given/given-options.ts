import type { CommandName } from '../declaration/commands.ts';
import type { Fault } from '../declaration/fault.ts';
import type { OptionKey, OptionValues } from '../table/options.ts';

/** The parsed command line. Its values are still text. */
export type CommandLine = {
  readonly command: CommandName;
  /** False without a command, which means `run`. */
  readonly commandNamed: boolean;
  readonly names: readonly string[];
  readonly flags: ReadonlyMap<OptionKey, GivenFlag>;
  readonly mode: 'command' | 'help' | 'version';
  readonly faults: readonly Fault[];
};

/** `source` is the flag as written. A repeated flag has several texts. */
export type GivenFlag = { readonly source: string; readonly texts: readonly string[] };

export type Given = {
  readonly command: CommandName;
  readonly commandNamed: boolean;
  readonly names: readonly string[];
  readonly values: OptionValues;
  /** The flag or variable that set an option. */
  readonly sourceOf: (key: keyof OptionValues) => string;
};
