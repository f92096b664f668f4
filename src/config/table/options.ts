import { acceptedOptions } from './accepted.ts';
import { engineOptions } from './engine.ts';
import { hookOptions } from './hooks.ts';
import { httpOptions } from './http.ts';
import { notificationOptions } from './notifications.ts';
import { outputOptions } from './output.ts';
import { registryOptions } from './registry.ts';
import { remoteOptions } from './remote.ts';
import { selectionOptions } from './selection.ts';
import { stateOptions } from './state.ts';
import { updateOptions } from './update.ts';
import { whenOptions } from './when.ts';
import type { Option, ValueOf } from '../declaration/option.ts';

/**
 * Every option, once. The key is the name of its value in `settings.ts`: an entry here and a line
 * there are all that a new option needs.
 */
export const options = {
  ...selectionOptions,
  ...updateOptions,
  ...hookOptions,
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

export type OptionValues = { readonly [Key in OptionKey]: ValueOf<(typeof options)[Key]> };

/** The table as a list, in the order of help and docs. */
export const optionEntries: readonly (readonly [OptionKey, Option])[] = Object.entries(options) as [
  OptionKey,
  Option,
][];
