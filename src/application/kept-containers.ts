import { isAlive } from '../domain/container.ts';
import { describeError, ServiceError } from '../domain/errors.ts';
import { keptAmong, type KeptContainer, whyOver } from '../domain/kept-containers.ts';
import type { Outside } from '../domain/outside.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import { removeUnusedImages } from './cleanup.ts';

/**
 * Removes what earlier updates have kept and need not keep any longer, never its volumes, and with
 * `cleanup` its image. What cannot be done now is done the next time.
 */
export async function removeOverdue(
  outside: Outside,
  { cleanup }: Pick<ServiceSettings, 'cleanup'>,
  signal?: AbortSignal,
): Promise<void> {
  try {
    const containers = await outside.engine.listContainers({}, signal);
    const kept = keptAmong(containers);
    if (kept.length === 0) return;
    const { nowMs } = await outside.engine.info(signal);
    for (const one of kept) {
      const because = whyOver(one, containers, nowMs);
      if (because !== undefined && !signal?.aborted) await removeKept(outside, one, { because, cleanup });
    }
  } catch (error) {
    if (signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    outside.log.warn('Kept containers cannot be looked at', { error: describeError(error) });
  }
}

async function removeKept(
  outside: Outside,
  { container: { id, name, image }, kept }: KeptContainer,
  { because, cleanup }: { readonly because: string; readonly cleanup: boolean },
): Promise<void> {
  const { engine, log } = outside;
  const container = await engine.inspectContainer(id);
  if (container === undefined || container.name !== name || isAlive(container.state.status)) return;
  const outcome = await engine.removeContainer(id);
  if (outcome.kind === 'refused' || outcome.kind === 'unknown') {
    log.warn('A kept container cannot be removed', { container: name, error: outcome.message });
    return;
  }
  log.info('A kept container was removed', { container: name, because });
  if (!cleanup) return;
  const { imageId } = container;
  await removeUnusedImages(outside, [{ imageId, imageName: image, containerId: id, containerName: kept.name }]);
}
