import { printValue } from '../../domain/settings/values/label-values.ts';
import { isPlainPath, withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { variablesOf } from '../table/environment.ts';
import type { Option } from '../table/option.ts';
import { optionEntries, type OptionKey, type OptionValues } from '../table/options.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';

/** Content of `/v1/config`. `ownScope`: the scope of our own container, which is the default. */
export function shownConfiguration(service: ServiceSettings, options: readonly ShownOption[], ownScope: string) {
  const configured = service.scope === 'none' ? '' : service.scope;
  const effective = { ...service, scope: configured ?? ownScope };
  return { config: { ...effective, filterDescription: describeSelection(effective) }, options };
}

/** The selection of containers as a sentence, without a final period. */
export function describeSelection(settings: ServiceSettings): string {
  const { names, scope, monitorImageNames, skipImageNames } = settings;
  const which = names.length === 0 ? 'All containers' : `Containers named ${list(names)}`;
  const conditions = [
    settings.labelEnable ? 'with the label upkeep.enable=true' : 'except those that a label disables',
    ...mention(settings.disableContainers, 'except those named'),
    ...mention(monitorImageNames, 'of the images'),
    ...mention(skipImageNames, 'except those of the images'),
    ...mention(settings.enableContainersByLabel, 'with the label'),
    ...mention(settings.disableContainersByLabel, 'except those with the label'),
    ...(scope === undefined || scope === '' || scope === 'none' ? [] : [`in the scope ${quoted(scope)}`]),
    ...(settings.includeStopped ? ['stopped ones included'] : []),
    ...(settings.includeRestarting ? ['restarting ones included'] : []),
  ];
  return [which, ...conditions].join(', ');
}

function mention(items: readonly string[], words: string): readonly string[] {
  return items.length === 0 ? [] : [`${words} ${list(items)}`];
}

function list(names: readonly string[]): string {
  return names.map((name) => quoted(name)).join(' or ');
}

export type ShownOption = ReturnType<typeof showOptions>[number];

/** Every visible option with its value and source, in the order of help and docs. */
export function showOptions(values: OptionValues, sources: ReadonlyMap<OptionKey, string>) {
  const forPeople = optionEntries.filter(([, option]) => option.internal !== true);
  return forPeople.map(([key, option]) => ({
    name: option.flag ?? variablesOf(option)[0]?.name ?? key,
    value: shown(option, values[key]),
    source: sources.get(key) ?? 'default',
    given: sources.has(key) && option.isAmbient !== true,
    meaning: option.meaning,
  }));
}

function shown(option: Option, value: OptionValues[OptionKey]): string {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return '';
  if (option.secret === true) return '***';
  if (option.kind === 'duration') return formatDuration(Number(value));
  // The values of the other kinds are plain.
  const texts = option.kind === 'parsed' ? [printValue(option.value, value)] : [value].flat().map(String);
  const isShown = !/^(?:FILE|FOLDER)$/.test(option.placeholder ?? '') || texts.every(isPlainPath);
  return isShown ? texts.map(withoutSecretParts).join(',') : '***';
}
