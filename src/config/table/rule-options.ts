import type { Rule } from '../../domain/settings/table/option.ts';
import { rules } from '../../domain/settings/table/rules.ts';
import { type CommandName, deciding } from '../declaration/commands.ts';

/** The commands that each kind of rule affects. */
const commandsOf: Readonly<Record<Rule['usedBy'], readonly CommandName[]>> = {
  check: ['run', 'check', 'update', 'rollback', 'recover', ...deciding],
  selection: ['run', 'check', 'update', 'containers', ...deciding],
  update: ['run', 'update'],
  replacement: ['run', 'update', 'rollback', 'recover'],
};

/** The options of checks and updates from the domain. */
export const ruleOptions = withCommands(rules);

type WithCommands<Table> = {
  readonly [Key in keyof Table]: Table[Key] & { readonly commands: readonly CommandName[] };
};

function withCommands<Table extends Readonly<Record<string, Rule>>>(table: Table): WithCommands<Table> {
  const entries = Object.entries(table).map(([key, rule]) => [key, { ...rule, commands: commandsOf[rule.usedBy] }]);
  // The same keys, each with its own entry and the commands.
  return Object.fromEntries(entries) as WithCommands<Table>;
}
