import {
  optionTable,
  optionGroups,
  type ServiceOption,
  type OptionGroup,
  type ValuesOf,
} from '../../domain/settings/table/option.ts';
import { serviceOptions } from '../../domain/settings/table/service-options.ts';
import { checkingCommands, type CommandName } from './commands.ts';
import type { OptionParts, Option } from './option.ts';
import { engineOptions, remoteOptions, stateOptions } from './engine.ts';
import { httpOptions } from './http.ts';
import { notificationOptions } from './notifications.ts';
import { outputOptions } from './output.ts';
import { registryOptions } from './registry.ts';
import { requestOptions, whenOptions } from './schedule.ts';

/** The commands that each kind of rule affects. */
const commandsOf: Readonly<Record<ServiceOption['usedBy'], readonly CommandName[]>> = {
  check: [...checkingCommands, 'rollback', 'recover'],
  selection: [...checkingCommands, 'containers'],
  signature: [...checkingCommands, 'containers', 'rollback'],
  update: ['run', 'update'],
  replacement: ['run', 'update', 'rollback', 'recover'],
};

/** The options of checks and updates from the domain. */
const ruleOptions = withCommands(serviceOptions);

type WithCommands<Table> = {
  readonly [Key in keyof Table]: Table[Key] & { readonly commands: readonly CommandName[] };
};

function withCommands<Table extends Readonly<Record<string, ServiceOption>>>(table: Table): WithCommands<Table> {
  const entries = Object.entries(table).map(([key, rule]) => [key, { ...rule, commands: commandsOf[rule.usedBy] }]);
  // The same keys, each with its own entry and the commands.
  return Object.fromEntries(entries) as WithCommands<Table>;
}

const commands = ['run'] as const;

const alwaysByHelper = 'A helper container always does this; --no-self-update turns it off';
const ownPlatform = 'The platform of the container counts';

/** Options of the Watchtower family without an effect here. */
export const acceptedOptions = optionTable({ group: 'accepted', commands }, {
  ephemeralSelfUpdate: {
    kind: 'boolean',
    flag: 'ephemeral-self-update',
    meaning: 'Update the updater with a helper container',
    withoutEffect: alwaysByHelper,
  },
  selfUpdateOrchestrator: {
    kind: 'boolean',
    flag: 'self-update-orchestrator',
    env: [],
    meaning: 'Run as this helper container',
    withoutEffect: alwaysByHelper,
  },
  cooldownPlatformOs: platformOption('OS', 'linux'),
  cooldownPlatformArch: platformOption('ARCH', 'arm64'),
  cooldownPlatformVariant: platformOption('VARIANT', 'v8'),
} as const satisfies OptionParts);

function platformOption(part: string, example: string) {
  return {
    kind: 'text',
    env: [`COOLDOWN_PLATFORM_${part}`],
    meaning: 'Platform of the image for --cooldown-delay',
    example,
    withoutEffect: ownPlatform,
    commands: checkingCommands,
  } as const;
}

/**
 * Every option, once. The key is the name of its value in `OptionValues`. The rules of checks and updates come from the
 * domain and are its settings unchanged. `config/read/` makes settings from the others.
 */
export const options = {
  ...ruleOptions,
  ...requestOptions,
  ...whenOptions,
  ...stateOptions,
  ...engineOptions,
  ...registryOptions,
  ...httpOptions,
  ...remoteOptions,
  ...notificationOptions,
  ...outputOptions,
  ...acceptedOptions,
} as const satisfies Readonly<Record<string, Option>>;

export type OptionKey = keyof typeof options;

export type OptionValues = ValuesOf<typeof options>;

// The keys of the object are the type's members.
const groups = Object.keys(optionGroups) as OptionGroup[];

/** The table as a list, in the order of help and docs: by group. */
export const optionEntries: readonly (readonly [OptionKey, Option])[] = (
  Object.entries(options) as [OptionKey, Option][]
).toSorted(([, one], [, other]) => groups.indexOf(one.group) - groups.indexOf(other.group));
