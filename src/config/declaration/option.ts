import type { DeclaredOption } from '../../domain/settings/table/option.ts';
import type { CommandName } from './commands.ts';

/** An option, and the commands that take it. */
export type Option = DeclaredOption & { readonly commands: readonly CommandName[] };

/** The options of one kind. */
export type OptionOf<Kind extends Option['kind']> = Extract<Option, { readonly kind: Kind }>;

/** Options without the parts that a table of them shares. */
export type OptionParts = Readonly<Record<string, OwnParts<Option> & Partial<Pick<Option, 'commands'>>>>;

type OwnParts<Each> = Each extends Option ? Omit<Each, 'group' | 'commands'> : never;

/** Options of one group, for the same commands unless an option lists others. */
export function optionTable<Shared extends Pick<Option, 'group' | 'commands'>, Table extends OptionParts>(
  shared: Shared,
  table: Table,
): WithShared<Shared, Table> {
  const entries = Object.entries(table).map(([key, option]) => [key, { ...shared, ...option }]);
  // The same keys, each with its own entry and the shared parts.
  return Object.fromEntries(entries) as WithShared<Shared, Table>;
}

type WithShared<Shared, Table> = { readonly [Key in keyof Table]: Omit<Shared, keyof Table[Key]> & Table[Key] };

/** `config` accepts the options of `run`, because it shows their effect. */
export function takesOption(command: CommandName, option: Option): boolean {
  return option.commands.includes(command) || (command === 'config' && option.commands.includes('run'));
}
