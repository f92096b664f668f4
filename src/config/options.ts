import { acceptedOptions } from './options/accepted.ts';
import { engineOptions } from './options/engine.ts';
import { hookOptions } from './options/hooks.ts';
import { httpOptions } from './options/http.ts';
import { notificationOptions } from './options/notifications.ts';
import { outputOptions } from './options/output.ts';
import { registryOptions } from './options/registry.ts';
import { remoteOptions } from './options/remote.ts';
import { selectionOptions } from './options/selection.ts';
import { stateOptions } from './options/state.ts';
import { updateOptions } from './options/update.ts';
import { whenOptions } from './options/when.ts';
import type { Option, ValueOf } from './option.ts';

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
