import { type EngineAddress, parseEngineAddress, repeatedNames } from '../../domain/fleet/engine-address.ts';
import { patternsWithoutEngine } from '../../domain/wave/assign-waves.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Fault } from '../declaration/fault.ts';
import type { Given } from '../given/given.ts';

/** The engines to work on, in the order in which they were given; none: one among the usual sockets. */
export function readEngines({ values, sourceOf }: Pick<Given, 'values' | 'sourceOf'>, faults: Fault[]) {
  const engines = values.engineHost.flatMap((text): EngineAddress[] => {
    const read = parseEngineAddress(text);
    if (!('fault' in read)) return [read];
    // One engine alone needs no name.
    const host = text.replace(/^[^=:/]*=/, '');
    if (values.engineHost.length === 1 && host === text) return [{ name: 'engine', host }];
    const shown = quoted(text.replace(/:\/\/.*@/, '://***@'), 200);
    faults.push({ kind: 'value', message: `Cannot use ${sourceOf('engineHost')} ${shown}: ${read.fault}` });
    return [];
  });
  for (const name of repeatedNames(engines)) {
    const source = sourceOf('engineHost');
    const message = `Cannot use ${source}: several engines are called ${quoted(name)}; give each a name of its own, as in nas=ssh://user@server`;
    faults.push({ kind: 'value', message });
  }
  const known = engines.length === 0 ? ['local'] : engines.map(({ name }) => name);
  const strange = values.engines.filter((name) => !known.includes(name));
  // A running service knows its own engines.
  if (strange.length > 0 && values.remoteUrl === undefined) {
    const which = strange.map((name) => quoted(name)).join(', ');
    const message = `Cannot use --engine ${which}: no engine has this name; the engines are ${known.slice(0, 20).join(', ')}`;
    faults.push({ kind: 'value', message });
  }
  return engines;
}

/** A sentence for waves that do nothing, or a part of them: mostly a misspelling. */
export function strangeWaves(
  { values: { waves }, sourceOf }: Pick<Given, 'values' | 'sourceOf'>,
  engines: readonly EngineAddress[],
): readonly string[] {
  if (waves === undefined) return [];
  if (engines.length < 2) return [`${sourceOf('waves')} has no effect with one engine`];
  const names = engines.map(({ name }) => name);
  return patternsWithoutEngine(waves.steps, names).map(
    (pattern) => `${sourceOf('waves')}: no engine has a name like ${quoted(pattern)}`,
  );
}
