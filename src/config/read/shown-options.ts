import { printValue } from '../../domain/settings/values/label-values.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { variablesOf } from '../table/environment.ts';
import type { Option } from '../declaration/option.ts';
import { optionEntries, type OptionKey, type OptionValues } from '../table/options.ts';

/** An option for display. */
export type ShownOption = {
  /** The flag's name, or the variable's without a flag. */
  readonly name: string;
  /** Empty: none. A secret is shown as `***`. */
  readonly value: string;
  /** The flag or variable of the value, or `default`. */
  readonly source: string;
  /** A sentence without a final period. */
  readonly meaning: string;
};

/** Every visible option with its value and source, in the order of help and docs. */
export function showOptions(values: OptionValues, sources: ReadonlyMap<OptionKey, string>): readonly ShownOption[] {
  const forPeople = optionEntries.filter(([, option]) => option.internal !== true);
  return forPeople.map(([key, option]) => ({
    name: option.flag ?? variablesOf(option)[0]?.name ?? key,
    value: shown(option, values[key]),
    source: sources.get(key) ?? 'default',
    meaning: option.meaning,
  }));
}

function shown(option: Option, value: OptionValues[OptionKey]): string {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return '';
  if (option.secret === true) return '***';
  if (option.kind === 'duration') return formatDuration(Number(value));
  if (option.kind === 'parsed') return printValue(option.value, value);
  // The values of the other kinds are plain.
  return Array.isArray(value) ? value.join(',') : `${value as string | number | boolean}`;
}
