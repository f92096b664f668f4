import type { Watched } from './container.ts';
import { objectOf, objectsOf, textOf } from './reading.ts';

/** An engine that does not answer. */
export type EngineAway = { readonly name: string; readonly error: string };

/** Engines of `GET /v1/engines` that do not answer. */
export function readEnginesAway(document: unknown): readonly EngineAway[] {
  return objectsOf(objectOf(document)['engines']).flatMap(({ name, reachable, error }) =>
    reachable === false ? [{ name: textOf(name), error: textOf(error) || 'it does not answer' }] : [],
  );
}

/** Marks the containers of such engines as outdated. */
export function withEnginesAway(containers: readonly Watched[], away: readonly EngineAway[]): readonly Watched[] {
  if (away.length === 0) return containers;
  const names = new Set(away.map(({ name }) => name));
  return containers.map((one) => (names.has(one.engine) ? { ...one, isAway: true } : one));
}
