import { optionEntries, type OptionKey } from '../table/options.ts';

/** A sentence for each reason why something that was given does nothing, naming all that it holds for; never a value. */
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
