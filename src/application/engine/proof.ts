import type { Container } from '../../domain/container/container.ts';
import { digestsOf } from '../../domain/container/lookup.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { ProvingContainer } from '../../domain/waves.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import { mapConcurrently } from '../async/concurrency.ts';

/** The versions that an engine's containers prove or disprove. */
export type EngineProof = {
  /** The engine's own clock, milliseconds since the epoch. */
  readonly nowMs: number;
  readonly containers: readonly ProvenContainer[];
};

export type ProvenContainer = ProvingContainer & {
  /** In its short form. */
  readonly reference: string;
  /** The reference of the newest version that it may move to. Undefined where unknown. */
  readonly newest: string | undefined;
  /** False: it has failed or is restarting, so no run updates it. It can only disprove the version that it has. */
  readonly isUpdated: boolean;
  /** The newest digest of that reference, if it failed in this container. */
  readonly failed: Digest | undefined;
};

/** A container with the answer of its registry, if that is known. */
export type AskedContainer = {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly status: Staleness;
  /** See `CheckedContainer`. */
  readonly candidate?: string;
  readonly imageId: string;
  readonly digest: Digest | undefined;
  readonly latestDigest: Digest | undefined;
  readonly failedVersion: object | undefined;
  readonly isUpdated: boolean;
};

/**
 * Inspects the containers, because a list does not show their start times. A removed container proves nothing, and
 * neither does a job that has ended well.
 */
export async function readProof(
  { engine }: Pick<ReadOnlyOutside, 'engine'>,
  asked: readonly AskedContainer[],
  signal: AbortSignal | undefined,
): Promise<EngineProof> {
  const read = await mapConcurrently(asked, 4, async (one): Promise<readonly ProvenContainer[]> => {
    const container = await engine.inspectContainer(one.id, signal);
    if (container === undefined || (!one.isUpdated && hasEndedWell(container))) return [];
    const image = await engine.inspectImage(one.imageId, signal);
    const { status, health, startedAt } = container.state;
    const startedAtMs = Date.parse(startedAt);
    const digests = image === undefined ? [] : digestsOf(image);
    return [
      {
        name: one.name,
        reference: one.image,
        isUpdated: one.isUpdated,
        newest: one.status === 'unknown' ? undefined : (one.candidate ?? one.image),
        digests: [...new Set([...(one.digest === undefined ? [] : [one.digest]), ...digests])],
        isRunning: status === 'running',
        isHealthy: health === 'healthy' || health === 'none',
        startedAtMs: Number.isNaN(startedAtMs) ? undefined : startedAtMs,
        builtAtMs: image?.createdAtMs,
        failed: one.failedVersion === undefined ? undefined : one.latestDigest,
      },
    ];
  });
  const { nowMs } = await engine.info(signal);
  return { nowMs, containers: read.flat() };
}

function hasEndedWell({ state: { status, exitCode } }: Container): boolean {
  return status === 'exited' && exitCode === 0;
}
