import { createSharedUse, remember, rememberLists } from '../../async/concurrency.ts';
import { formatReference } from '../../../domain/image/image-reference.ts';
import { formatPlatform } from '../../../domain/image/platform.ts';
import type { Registry } from '../../../domain/outside/registry.ts';
import type { PartOfRun } from '../../check/checked-container.ts';

/** The part of each engine in a run. Upkeep's own container waits for no other engine. */
export function partOfRun(runId: string, registry: Registry): PartOfRun {
  return { runId, registry: registryOfRun(registry), network: createSharedUse(), beforeSelf: () => Promise.resolve() };
}

/**
 * The registries for one run. Each question is asked once for all engines, so a tag that moves during the run gives all
 * engines the same digest. Failures are shared too. The questions of the run bound it.
 */
function registryOfRun(registry: Registry): Registry {
  return {
    ...registry,
    resolve: remember(registry.resolve, (reference) => formatReference(reference)),
    listTags: rememberLists(registry.listTags),
    describe: remember(
      registry.describe,
      ({ reference, digest, platform }) => `${formatReference(reference)} ${digest} ${formatPlatform(platform)}`,
    ),
    platformsOf: remember(registry.platformsOf, (reference, digest) => `${formatReference(reference)} ${digest}`),
    signaturesOf: remember(registry.signaturesOf, (reference, digest) => `${formatReference(reference)} ${digest}`),
  };
}
