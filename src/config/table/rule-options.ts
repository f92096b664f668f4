import type { ServiceOption } from '../../domain/settings/table/option.ts';
import { serviceOptions } from '../../domain/settings/table/service-options.ts';
import { checkingCommands, type CommandName } from '../declaration/commands.ts';

/** The commands that each kind of rule affects. */
const commandsOf: Readonly<Record<ServiceOption['usedBy'], readonly CommandName[]>> = {
  check: [...checkingCommands, 'rollback', 'recover'],
  selection: [...checkingCommands, 'containers'],
  signature: [...checkingCommands, 'containers', 'rollback'],
  update: ['run', 'update'],
  replacement: ['run', 'update', 'rollback', 'recover'],
};

/** The options of checks and updates from the domain. */
export const ruleOptions = withCommands(serviceOptions);

type WithCommands<Table> = {
  readonly [Key in keyof Table]: Table[Key] & { readonly commands: readonly CommandName[] };
};

function withCommands<Table extends Readonly<Record<string, ServiceOption>>>(table: Table): WithCommands<Table> {
  const entries = Object.entries(table).map(([key, rule]) => [key, { ...rule, commands: commandsOf[rule.usedBy] }]);
  // The same keys, each with its own entry and the commands.
  return Object.fromEntries(entries) as WithCommands<Table>;
}
