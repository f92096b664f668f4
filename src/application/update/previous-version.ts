import { suggestionFor } from '../../domain/check/selection.ts';
import { failedVersionsIn, failedVersionsOf } from '../../domain/check/failed-version.ts';
import { indexImages, labelsOfImage } from '../../domain/container/lookup.ts';
import { versionOf } from '../../domain/image/image-labels.ts';
import { printTime } from '../../domain/text/duration.ts';
import type { Container, ContainerSummary, Image } from '../../domain/container/container.ts';
import { parseDigest, repositoryName, type Digest } from '../../domain/image/image-reference.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import {
  isExcluded,
  labelValuesOf,
  effectiveSettings,
  type ServiceSettings,
} from '../../domain/settings/effective-settings.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { RemoteImage, VerifiedImage } from '../../domain/outside/registry.ts';
import {
  carrierOf,
  isNamedIn,
  movedTogether,
  readLastUpdate,
  type LastUpdate,
} from '../../domain/recovery/former-version.ts';
import { transactionLabel, type Journal } from '../../domain/transaction/journal.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { StaleContainer } from '../../domain/plan/update-plan.ts';
import { imageOf } from '../engine/listing.ts';
import { needsSignature, verifyImage } from '../check/require-signature.ts';

type World = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly signal: AbortSignal | undefined;
};

/**
 * The named containers with the image before their last update, and the containers that were updated together with
 * them. Throws a `ServiceError` for a name without such an image, and `unconfirmed` without `forward` for an image that
 * the container has left before.
 */
export async function findPrevious(
  outside: Outside,
  settings: ServiceSettings,
  {
    names,
    forward,
    suggests,
  }: { readonly names: readonly string[]; readonly forward: boolean; readonly suggests: boolean },
  signal: AbortSignal | undefined,
): Promise<readonly StaleContainer[]> {
  const world = { outside, settings, signal };
  const listed = await outside.engine.listContainers({}, signal);
  const found = new Map<string, StaleContainer>();
  for (const name of names) {
    const summary = listed.find((container) => container.name === name);
    if (summary === undefined)
      throw refuse(name, `there is no container of this name${suggests ? suggestionFor(name, listed) : ''}`);
    if (summary.id === outside.instance.containerId)
      throw refuse(name, 'this command runs in it: run it on the host, or in a container of its own');
    const last = await findLastUpdate(world, name, summary.id);
    if (last.kind !== 'update') throw refuse(name, whyNothingToUndo[last.kind]);
    if (!forward) await refuseForward(world, last);
    found.set(last.container.id, await previousOf(world, last));
    for (const other of await othersOf(world, last.journal, listed)) {
      if (found.has(other.container.id) || other.container.imageId === last.journal.oldImageId) continue;
      found.set(other.container.id, await previousOf(world, other));
    }
  }
  return [...found.values()];
}

/** After a rollback, the image before the last update is the newer one again. */
async function refuseForward({ outside: { engine }, signal }: World, { container, journal }: Found): Promise<void> {
  const { name, settings, imageId } = container;
  const images = await engine.listImages(signal);
  const left = failedVersionsIn(failedVersionsOf(images), name).find((one) => one.imageId === journal.oldImageId);
  if (left === undefined) return;
  const known = indexImages(images);
  const version = (id: string) => {
    const shown = versionOf({ labels: labelsOfImage(known.byId(id)), image: settings.Config.Image, digest: id });
    return shown ?? 'another image';
  };
  const [from, to] = [version(imageId), version(journal.oldImageId)];
  const why =
    left.askedBy === undefined
      ? 'to a version that failed here before'
      : `to a version that you went back from on ${printTime(left.atMs)}`;
  throw new ServiceError(
    'unconfirmed',
    `Cannot roll back ${quoted(name)}: this would go forward again${from === to ? '' : `, from ${from} to ${to}`}, ${why}`,
    { remedy: 'nothing was changed; --yes goes forward' },
  );
}

const whyNothingToUndo = {
  none: 'it has not been updated since it was created',
  'kept its image': 'its last update kept its image: it was only re-created with another container',
} as const;

type Found = { readonly container: Container } & Extract<LastUpdate, { kind: 'update' }>;

async function findLastUpdate(
  { outside, signal }: World,
  name: string,
  id: string,
): Promise<Found | { readonly kind: keyof typeof whyNothingToUndo }> {
  const container = await inspectWithLabels(outside, id, signal);
  if (container === undefined) throw refuse(name, 'someone removed it just now');
  if (isExcluded(container)) throw refuse(name, 'it is disabled by its label');
  const last = readLastUpdate(carrierOf(container), outside.seal);
  if (last.kind === 'refused') throw refuse(name, last.reason);
  return last.kind === 'update' ? { container, ...last } : last;
}

/** The container with the labels of its image, from the registry if the engine does not know them. */
async function inspectWithLabels(
  outside: Outside,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Container | undefined> {
  const container = await outside.engine.inspectContainer(id, signal);
  if (container === undefined || container.imageLabels !== undefined) return container;
  await imageOf(outside, container, signal);
  return outside.engine.inspectContainer(id, signal);
}

/**
 * Other members of the last update's group that have not changed since. A container that only claims to be a member is
 * none. A container of an image that was committed from a member has its label too, but no journal of its own.
 */
async function othersOf(
  { outside, signal }: World,
  journal: Journal,
  listed: readonly ContainerSummary[],
): Promise<readonly Found[]> {
  const { transaction, members } = journal;
  const labelled = listed.filter(
    ({ name, labels }) =>
      name !== journal.name &&
      labels[transactionLabel] === transaction &&
      members.some((member) => member.name === name),
  );
  const read = await Promise.all(labelled.map(({ id }) => inspectWithLabels(outside, id, signal)));
  return read.flatMap((container) => {
    const last = container && readLastUpdate(carrierOf(container), outside.seal);
    if (container === undefined || last?.kind !== 'update' || !movedTogether(journal, last.journal)) return [];
    if (isExcluded(container)) throw refuse(container.name, 'it is disabled by its label');
    return [{ container, ...last }];
  });
}

async function previousOf(world: World, found: Found): Promise<StaleContainer> {
  const { container, journal } = found;
  const { id, name } = container;
  const { oldImageId, reference, formerReference } = journal;
  const digest = parseDigest(journal.oldDigest);
  const held = await world.outside.engine.inspectImage(oldImageId, world.signal);
  if (held === undefined && digest === undefined)
    throw refuse(name, 'the engine no longer has its former image, and no registry can supply that image');
  const effective = effectiveSettings(world.settings, labelValuesOf(container));
  const isVerified = needsSignature(effective, world.outside.verificationKeys);
  const isPulled = held === undefined && digest !== undefined;
  const verified = isPulled && isVerified ? await verifyPulled(world, found, { digest, effective }) : undefined;
  if (held !== undefined && !found.isSealed && !isNamedIn(held, found.reference))
    await requireFromRegistry(world, found, held);
  return {
    id,
    name,
    ...(formerReference === undefined ? { reference } : { reference: formerReference, formerReference: reference }),
    digest,
    imageId: oldImageId,
    ...(held !== undefined && isVerified && { mustBeHeld: true as const }),
    ...(verified !== undefined && { verified }),
  };
}

/** An image that has to be pulled needs a signature like a new one, because its digest is only what a label says. */
async function verifyPulled(
  world: World,
  found: Found,
  { digest, effective }: { readonly digest: Digest; readonly effective: ServiceSettings },
): Promise<VerifiedImage | undefined> {
  const { outside, signal } = world;
  const { container, reference } = found;
  const image = await describeFormer(world, found, digest);
  const judged = await verifyImage(outside, effective, { reference, digest, image }, signal);
  if (judged.kind === 'unsigned')
    throw refuse(container.name, `its former image has to be pulled, and is ${judged.why}`);
  return judged.kind === 'signed' ? judged.verified : undefined;
}

/**
 * Not every engine keeps the repository of an image that has lost its tag. Without a seal, the registry has to show it:
 * otherwise a label could give the tag of a repository to an image of someone else.
 */
async function requireFromRegistry(world: World, found: Found, held: Image): Promise<void> {
  const unknown = (why: string) =>
    refuse(
      found.container.name,
      `nothing shows that its former image is of ${quoted(repositoryName(found.reference), 200)}${why}`,
      'nothing was changed; with --state-dir or --journal-key-file, later updates are sealed, which shows it',
    );
  const digest = parseDigest(found.journal.oldDigest);
  if (digest === undefined) throw unknown('');
  const remote = await describeFormer(world, found, digest, held).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    throw unknown(`, and the registry does not: ${describeError(error)}`);
  });
  const ids: readonly string[] = [remote.digest, remote.manifestDigest, remote.configDigest];
  if (!ids.includes(held.id)) throw unknown('');
}

async function describeFormer(
  { outside: { engine, registry }, signal }: World,
  { reference, container }: Found,
  digest: Digest,
  held?: Image,
): Promise<RemoteImage> {
  const { os, architecture, variant } = held ?? container.platform ?? (await engine.info(signal)).platform;
  return registry.describe({ reference, digest, platform: { os, architecture, variant } }, signal);
}

function refuse(name: string, why: string, remedy = 'nothing was changed'): ServiceError {
  return new ServiceError('not-found', `Cannot roll back ${quoted(name)}: ${why}`, { remedy });
}
