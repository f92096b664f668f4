import type { LabelValues } from './labels.ts';
import type { ServiceSettings } from './service-settings.ts';
import { labelledEntries } from './table/service-options.ts';

/**
 * The settings for one container: its labels over the options. The table defines for each label whether it overrides
 * its option, or can only add a restriction unless labels take precedence. Missing settings stay absent.
 */
export function effectiveSettings<Settings extends Partial<ServiceSettings>>(
  settings: Settings,
  labelValues: Partial<LabelValues>,
): Settings {
  const effective: Record<string, unknown> = { ...settings };
  for (const [key, { label }] of labelledEntries) {
    const value = labelValues[key];
    if (value === undefined || !Object.hasOwn(settings, key)) continue;
    const isRestraint = label.effect === 'restrains' && settings.labelTakesPrecedence !== true;
    effective[key] = isRestraint ? settings[key] === true || value === true : value;
  }
  // `OptionLabel` guarantees that a label's value has the type of its option.
  return effective as Settings;
}
