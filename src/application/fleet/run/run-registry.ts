import { formatReference } from '../../../domain/reference/image-reference.ts';
import { formatPlatform } from '../../../domain/reference/platform.ts';
import type { Registry } from '../../../domain/outside/registry.ts';
import { remember } from '../../async/remember.ts';

/**
 * The registries for one run. Each question is asked once for all engines, so a tag that moves during the run gives all
 * engines the same digest. Failures are shared too. The questions of the run bound it.
 */
export function registryOfRun(registry: Registry): Registry {
  return {
    ...registry,
    resolve: remember(
      (reference, signal) => registry.resolve(reference, signal),
      (reference) => formatReference(reference),
    ),
    listTags: remember(
      (reference, signal) => registry.listTags(reference, signal),
      (reference) => formatReference(reference),
    ),
    describe: remember(
      (request, signal) => registry.describe(request, signal),
      ({ reference, digest, platform }) => `${formatReference(reference)} ${digest} ${formatPlatform(platform)}`,
    ),
    platformsOf: remember(
      (reference, digest, signal) => registry.platformsOf(reference, digest, signal),
      (reference, digest) => `${formatReference(reference)} ${digest}`,
    ),
    signaturesOf: remember(
      (reference, digest, signal) => registry.signaturesOf(reference, digest, signal),
      (reference, digest) => `${formatReference(reference)} ${digest}`,
    ),
  };
}
