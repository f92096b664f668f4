import type { CommandName } from '../declaration/commands.ts';
import type { Fault } from '../declaration/fault.ts';
import type { OptionKey, OptionValues } from '../table/options.ts';

/** The command line, taken apart but with its values still as text. */
export type CommandLine = {
  readonly command: CommandName;
  /** False when no command was named and `run` is meant. */
  readonly commandNamed: boolean;
  readonly names: readonly string[];
  readonly flags: ReadonlyMap<OptionKey, GivenFlag>;
  readonly wants: 'command' | 'help' | 'version';
  readonly faults: readonly Fault[];
};

/** `source` is the flag as it was written; a repeated flag has several texts. */
export type GivenFlag = { readonly source: string; readonly texts: readonly string[] };

export type Given = {
  readonly command: CommandName;
  readonly commandNamed: boolean;
  readonly names: readonly string[];
  readonly values: OptionValues;
  /** The flag or variable that gave an option its value. */
  readonly sourceOf: (key: keyof OptionValues) => string;
};
