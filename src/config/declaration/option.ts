import type { DeclaredOption, OptionParts as TableParts } from '../../domain/settings/table/option.ts';
import type { CommandName } from './commands.ts';

/** An option, and the commands that take it. */
export type Option = DeclaredOption & { readonly commands: readonly CommandName[] };

/** The options of a table. */
export type OptionParts = TableParts<Option, 'group' | 'commands'>;

/** `config` accepts the options of `run`, because it shows their effect. */
export function takesOption(command: CommandName, option: Option): boolean {
  return option.commands.includes(command) || (command === 'config' && option.commands.includes('run'));
}
