import { acceptedOptions } from './accepted.ts';
import { engineOptions } from './engine.ts';
import { httpOptions } from './http.ts';
import { notificationOptions } from './notifications.ts';
import { outputOptions } from './output.ts';
import { registryOptions } from './registry.ts';
import { remoteOptions } from './remote.ts';
import { ruleOptions } from './rule-options.ts';
import { requestOptions } from './request.ts';
import { stateOptions } from './state.ts';
import { whenOptions } from './schedule.ts';
import { type OptionGroup, optionGroups, type ValuesOf } from '../../domain/settings/table/option.ts';
import type { Option } from '../declaration/option.ts';

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
