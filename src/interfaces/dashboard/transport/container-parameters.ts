import { encodedPart } from '../state/address.ts';
import type { WatchedContainer } from '../state/documents/container.ts';

/**
 * The parameters of requests about these containers, one text for each engine, because names apply to every engine of a
 * request.
 */
export function containerParameters(
  containers: readonly Pick<WatchedContainer, 'ownName' | 'engine'>[],
): readonly string[] {
  const scopes = new Map<string, string>();
  for (const { ownName, engine } of containers) {
    const before = scopes.get(engine) ?? (engine === '' ? '' : `&engine=${encodedPart(engine)}`);
    scopes.set(engine, `${before}&container=${namePattern(ownName)}`);
  }
  return [...scopes.values()];
}

/** The API accepts patterns, so special characters are escaped: https://github.com/google/re2/wiki/Syntax */
function namePattern(name: string): string {
  return encodedPart(name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
}
