import { addTo } from '../../domain/text/plain-data.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { newImageOf } from '../../domain/plan/order.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { imageOf } from '../engine/listing.ts';
import { requirePermissions } from '../engine/permissions.ts';
import { announcePhase } from '../transaction/outcomes.ts';
import { fetchImage, foreignPlatform, type ImageAhead, type ImagesAhead } from '../transaction/prepare.ts';

export type AheadOrder = {
  readonly runId: string;
  readonly transactions: readonly PlannedTransaction[];
  /** The bytes that the pull for a container downloads; undefined if that is not known. */
  readonly downloadOf: (containerId: string) => number | undefined;
  /** Whether Upkeep runs on the engine's host, so that the disk that it sees is the engine's. */
  readonly isOnItsHost: boolean;
};

/**
 * Pulls the images of all transactions, as many at once as are updated at once, and changes nothing else: a stop may
 * cut the network of a later pull. A failure is kept for the turn of its container. Images for which the disk has no
 * room, and those of a single transaction, are left for that turn too.
 */
export async function fetchAhead(
  outside: Outside,
  settings: ServiceSettings,
  order: AheadOrder,
  signal?: AbortSignal,
): Promise<ImagesAhead> {
  const { transactions, runId } = order;
  const ahead = new Map<string, ImageAhead>();
  const wanted = transactions.flatMap(({ members }) => members.filter(isPulled));
  if (transactions.length < 2 || wanted.length === 0 || signal?.aborted) return ahead;
  const doing = 'pull images';
  const isPermitted = await requirePermissions(outside, doing, { pulls: true }, signal).then(
    () => true,
    () => false,
  );
  if (!isPermitted) return ahead;
  const byImage = new Map<string, PlannedMember[]>();
  for (const member of wanted) addTo(byImage, newImageOf(member), member);
  const fitting = await thoseThatFit(outside, [...byImage.values()], order, signal);
  const atOnce = settings.rollingRestart ? 1 : settings.updateConcurrency;
  await mapConcurrently(fitting, atOnce, async (members) => {
    for (const member of members) {
      if (signal?.aborted) return;
      const image = await fetchOne(outside, settings, member, runId, signal);
      if (image !== undefined) ahead.set(member.container.id, image);
    }
  });
  return ahead;
}

/** Waits for the network that the update of another container has cut: a program listens a while after its start. */
export async function fetchWhenBack(
  outside: Outside,
  settings: ServiceSettings,
  { members }: PlannedTransaction,
  { runId, ahead }: { readonly runId: string; readonly ahead: ImagesAhead },
  signal?: AbortSignal,
): Promise<ImagesAhead> {
  const images = new Map(ahead);
  for (const pauseMs of [0, ...pausesUntilBackMs]) {
    if (pauseMs > 0) await outside.clock.sleep(pauseMs, signal);
    for (const member of members) {
      if (images.get(member.container.id)?.kind !== 'failed') continue;
      const image = await fetchOne(outside, settings, member, runId, signal);
      if (image !== undefined) images.set(member.container.id, image);
    }
    if (!isUnpulled(members, images)) break;
  }
  return images;
}

/** Whether a pull for one of the members has failed, in a way that may pass. */
export function isUnpulled(members: readonly PlannedMember[], ahead: ImagesAhead): boolean {
  return members.some(({ container }) => {
    const image = ahead.get(container.id);
    return (
      image?.kind === 'failed' && image.error.code !== 'registry-denied' && image.error.code !== 'registry-not-found'
    );
  });
}

/** In all about half a minute. */
const pausesUntilBackMs: readonly number[] = [1000, 2000, 4000, 8000, 15_000];

function isPulled({ cause, digest, imageId, mustBeHeld }: PlannedMember): boolean {
  return cause === 'stale' && digest !== undefined && imageId === undefined && mustBeHeld !== true;
}

async function fetchOne(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedMember,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<ImageAhead | undefined> {
  const { container } = planned;
  const { engine, clock } = outside;
  const begunAtMs = clock.monotonicMs();
  announcePhase(outside, runId, container.name, 'pulling');
  try {
    const info = await engine.info(signal);
    const oldImage = await imageOf(outside, container, signal);
    const context = { outside, settings, runId, info, signal };
    const image = await fetchImage(context, planned, foreignPlatform(container, oldImage, info));
    const atMs = clock.monotonicMs();
    return { kind: 'fetched', oldImage, image, atMs, tookMs: atMs - begunAtMs };
  } catch (error) {
    if (signal?.aborted) return undefined;
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'failed', error };
  }
}

/**
 * The images, each with its containers, that fit on the disk together, in order; all where the disk or a size is not
 * known.
 */
async function thoseThatFit(
  { engine, freeBytes, log }: Outside,
  images: readonly (readonly PlannedMember[])[],
  { downloadOf, isOnItsHost }: AheadOrder,
  signal: AbortSignal | undefined,
): Promise<readonly (readonly PlannedMember[])[]> {
  if (!isOnItsHost || freeBytes === undefined) return images;
  const folder = (await engine.info(signal)).dataFolder;
  const free = folder === undefined ? undefined : await freeBytes(folder);
  if (free === undefined) return images;
  let left = free * (1 - reserve);
  const fitting = images.filter(([member]) => {
    const need = (member === undefined ? 0 : (downloadOf(member.container.id) ?? 0)) * unpackedTimes;
    if (need > left) return false;
    left -= need;
    return true;
  });
  if (fitting.length < images.length)
    log.info('The disk has no room for all new images at once: some are pulled at the turn of their containers', {
      free: Math.round(free),
      later: images.length - fitting.length,
    });
  return fitting;
}

/** The part of the free space that stays free. */
const reserve = 0.1;

/** Layers are usually two to three times as large on the disk, and lie there compressed too while they are unpacked. */
const unpackedTimes = 3.5;
