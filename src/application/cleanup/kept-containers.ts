import { isAlive } from '../../domain/container/container.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { imageLabelsIn, indexImages } from '../../domain/container/lookup.ts';
import { keptAmong, type KeptContainer, whyRemovable } from '../../domain/recovery/former-version.ts';
import { keptMarksOf } from '../../domain/transaction/transaction-names.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { removeUnused } from './cleanup.ts';
import { unlessBroken } from '../engine/listing.ts';
import { untag } from '../transaction/facts/marks.ts';

/**
 * Removes overdue kept containers, never their volumes, and with `cleanup` their images. A failed removal
 * is repeated by the next run.
 */
export async function removeOverdue(
  outside: Outside,
  { cleanup }: Pick<ServiceSettings, 'cleanup'>,
  signal?: AbortSignal,
): Promise<void> {
  try {
    // While removals are forbidden, an attempt would only fail in each run.
    if ((await outside.engine.forbiddenCalls(signal)).includes('remove')) return;
    const containers = await outside.engine.listContainers({}, signal);
    const kept = keptAmong(containers);
    const [{ nowMs }, images] = await Promise.all([outside.engine.info(signal), outside.engine.listImages(signal)]);
    const marked = keptMarksOf(images);
    const { seal } = outside;
    const world = { containers, marked, imageLabelsOf: imageLabelsIn(indexImages(images)), seal, nowMs };
    for (const one of kept) {
      const because = whyRemovable(one, world);
      if (because !== undefined && !signal?.aborted)
        await removeUnlessBroken(outside, one, { because, cleanup }, signal);
    }
    const still = new Set(
      keptAmong(await outside.engine.listContainers({}, signal)).map(({ container }) => container.id),
    );
    for (const [id, tag] of marked) if (!still.has(id) && !signal?.aborted) await untag(outside, tag);
  } catch (error) {
    if (signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    outside.log.warn('Kept containers cannot be inspected', { error: describeError(error) });
  }
}

type Removal = { readonly because: string; readonly cleanup: boolean };

/** Keeps a container that cannot be inspected. The others are removed. */
async function removeUnlessBroken(
  outside: Outside,
  one: KeptContainer,
  removal: Removal,
  signal: AbortSignal | undefined,
): Promise<void> {
  const note = (error: string) =>
    outside.log.warn('A kept container cannot be inspected', { container: one.container.name, error });
  await unlessBroken(outside, () => removeKept(outside, one, removal), note, signal);
}

async function removeKept(
  outside: Outside,
  { container: { id, name, image }, kept }: KeptContainer,
  { because, cleanup }: Removal,
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
  const superseded = { imageId, imageName: image, containerId: id, containerName: kept.name };
  await removeUnused(outside, () => [superseded]);
}
