import { quoted } from '../../../domain/text/printable.ts';
import { HttpError } from '../replies/errors.ts';
import type { EngineState } from '../../../domain/fleet/engine-state.ts';
import { list, unlisted } from './query.ts';

/** The parameter of routes about containers. */
export const engineParameter = {
  engine: unlisted(list('Of several engines, only these; separated by commas, and repeatable')),
} as const;

/**
 * The engines of a request; empty: all. Throws 400 for an unknown name, because ignoring it would include all engines.
 */
export function enginesIn(
  { engine: names }: { readonly engine: readonly string[] },
  { engines }: { readonly engines?: () => readonly Pick<EngineState, 'name'>[] },
): { readonly engines?: readonly string[] } {
  if (names.length === 0) return {};
  if (engines === undefined)
    throw new HttpError(400, 'invalid query parameter "engine": this service works on one engine alone');
  const known = new Set(engines().map(({ name }) => name));
  const strange = names.find((name) => !known.has(name));
  if (strange !== undefined)
    throw new HttpError(400, `invalid query parameter "engine": no engine is called ${quoted(strange, 100)}`);
  return { engines: names };
}
