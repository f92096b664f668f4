import { formatReference } from '../../../domain/reference/image-reference.ts';
import { formatPlatform } from '../../../domain/reference/platform.ts';
import type { Registry } from '../../../domain/outside/registry.ts';

/**
 * The registries for one run. Each question is asked once for all engines, so a tag that moves during the run gives all
 * engines the same digest. Failures are shared too. The questions of the run bound it.
 */
export function registryOfRun(registry: Registry): Registry {
  return {
    ...registry,
    resolve: once(
      (reference, signal) => registry.resolve(reference, signal),
      (reference) => formatReference(reference),
    ),
    listTags: once(
      (reference, signal) => registry.listTags(reference, signal),
      (reference) => formatReference(reference),
    ),
    describe: once(
      (request, signal) => registry.describe(request, signal),
      ({ reference, digest, platform }) => `${formatReference(reference)} ${digest} ${formatPlatform(platform)}`,
    ),
    platformsOf: once(
      (reference, digest, signal) => registry.platformsOf(reference, digest, signal),
      (reference, digest) => `${formatReference(reference)} ${digest}`,
    ),
    signaturesOf: once(
      (reference, digest, signal) => registry.signaturesOf(reference, digest, signal),
      (reference, digest) => `${formatReference(reference)} ${digest}`,
    ),
  };
}

function once<Args extends readonly unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  keyOf: (...args: Args) => string,
): (...args: Args) => Promise<Result> {
  const answers = new Map<string, Promise<Result>>();
  return (...args) => {
    const key = keyOf(...args);
    const answer = answers.get(key) ?? call(...args);
    answers.set(key, answer);
    return answer;
  };
}
