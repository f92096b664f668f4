import { optionEntries, type OptionKey } from '../table/options.ts';

/**
 * A sentence for each reason why a given option has no effect, with all options it applies to. Values are never shown.
 */
export function warnWithoutEffect(sources: ReadonlyMap<OptionKey, string>): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const [key, { withoutEffect }] of optionEntries) {
    const source = sources.get(key);
    if (withoutEffect === undefined || source === undefined) continue;
    byReason.set(withoutEffect, [...(byReason.get(withoutEffect) ?? []), source]);
  }
  return [...byReason].map(
    ([reason, given]) => `${given.join(', ')} ${given.length === 1 ? 'has' : 'have'} no effect: ${reason}`,
  );
}
