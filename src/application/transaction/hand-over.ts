import { imageOf } from '../engine/listing.ts';
import { isAlive, type ContainerRecipe, type Container, type Image } from '../../domain/container/container.ts';
import { recipeFor } from '../../domain/container/recipe/container-recipe.ts';
import { describeWithRemedy, ServiceError, describeError } from '../../domain/text/errors.ts';
import {
  asDoorHelper,
  asHelper,
  readHelperOrder,
  writeHelperOrder,
  type HelperOrder,
} from '../../domain/self-update/helper.ts';
import { helperMarkTag, helperName } from '../../domain/transaction/transaction-names.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { isFailure, type CallOutcome } from '../../domain/outside/engine.ts';
import {
  folderOf,
  foldersAbove,
  pathsToLookAt,
  placedFiles,
  type FileStat,
} from '../../domain/container/placed-files.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Member } from '../../domain/transaction/facts.ts';
import type { StepOutcome } from '../../domain/transaction/memory.ts';
import type { StepOf } from '../../domain/transaction/member.ts';
import { ownJournal } from '../../domain/transaction/journal.ts';
import { mapConcurrently } from '../async/concurrency.ts';

/**
 * Creates and starts the helper that finishes a transaction about our own container, or about a door. Resolves to
 * undefined when the helper runs: from then on, nothing else may change the transaction while the helper exists.
 * Otherwise resolves to the reason, and there is no helper.
 */
export async function handOver(outside: Outside, order: HelperOrder, needs: HelperNeeds): Promise<string | undefined> {
  const name = helperName(order.name);
  try {
    const { recipe, files } = await planHelper(outside, order, needs);
    const bundle = await readBundle(outside, outside.instance.containerId ?? '', files);
    const obstacle = await removeFormerHelper(outside, name);
    if (obstacle !== undefined) return obstacle;
    const failure = await createAndStart(outside, { name, recipe, order, files: bundle });
    if (failure === undefined) return undefined;
    const remains = await removeFormerHelper(outside, name);
    return remains === undefined ? failure : `${failure}; ${remains}`;
  } catch (error) {
    return describeWithRemedy(error);
  }
}

/** The placed files of our own container. For a door they are looked for, and `socketOf` has the engine's socket. */
type HelperNeeds = { readonly files: readonly string[] } | { readonly socketOf: string };

async function planHelper(
  outside: Outside,
  order: HelperOrder,
  needs: HelperNeeds,
): Promise<{ readonly recipe: ContainerRecipe; readonly files: readonly string[] }> {
  const { engine, engineName, instance } = outside;
  const [info, networks, own, holder] = await Promise.all([
    engine.info(),
    engine.listNetworks(),
    engine.inspectContainer(instance.containerId ?? ''),
    'socketOf' in needs ? engine.inspectContainer(needs.socketOf) : undefined,
  ]);
  if (own === undefined) throw new Error('our own container is not known to the engine');
  const oldImage = await imageOf(outside, own);
  const task = { transaction: order.transaction, engine: engineName };
  const container = 'files' in needs ? asHelper(own, task) : holder && asDoorHelper(own, holder, task);
  if (container === undefined)
    throw new ServiceError(
      'not-found',
      'Cannot create a helper: no mount of the container has the socket of the engine',
    );
  const recipe = recipeFor({
    container,
    oldImage,
    // The id, because the tag may already name the version that is to be proven.
    image: own.imageId,
    newImageId: own.imageId,
    journal: writeHelperOrder('files' in needs ? order : { ...order, waiting: own.name }),
    apiVersion: info.apiVersion,
    engineName: info.name,
    enginePlatform: info.platform,
    networks,
    replacedIds: new Map(),
    policyFromStart: true,
  });
  return { recipe, files: 'files' in needs ? needs.files : (await findPlacedFiles(outside, own, oldImage)).roots };
}

/**
 * Removes a former helper. Resolves to undefined when the name is free, else to the reason why it is taken. Other
 * containers are never removed.
 */
async function removeFormerHelper({ engine }: Outside, name: string): Promise<string | undefined> {
  const present = await engine.inspectContainer(name);
  if (present === undefined) return undefined;
  if (readHelperOrder(present.settings.Config.Labels ?? {}) === undefined)
    return `"${name}" is someone else's container`;
  const outcome = await engine.removeContainer(present.id);
  return outcome.kind === 'done' || outcome.kind === 'noop'
    ? undefined
    : `"${name}" cannot be removed: ${outcome.message}`;
}

/** The parts of a helper's start. A helper that runs has started, even if the answer to the call was lost. */
type HelperParts = {
  readonly name: string;
  readonly recipe: ContainerRecipe;
  readonly order: HelperOrder;
  readonly files: FileBundle;
};

async function createAndStart(
  { engine, seal }: Outside,
  { name, recipe, order, files }: HelperParts,
): Promise<string | undefined> {
  const created = await engine.createContainer(name, recipe);
  if (created.kind === 'refused') return `a helper cannot be created: ${created.message}`;
  const id = created.kind === 'done' ? created.id : (await engine.inspectContainer(name))?.id;
  if (id === undefined) return 'a helper cannot be created: the engine did not answer';
  for (const { networkId, endpoint } of recipe.laterEndpoints) {
    const connected = await engine.connectNetwork({ containerId: id, networkId, endpoint });
    if (isFailure(connected)) return `a helper cannot be connected to its networks: ${connected.message}`;
  }
  const written = await writeBundle({ engine }, id, files);
  if (isFailure(written)) return `a helper cannot get the files of this container: ${written.message}`;
  const tag = helperMarkTag(id, order.transaction, seal?.sign);
  const marked = await engine.tagImage(order.newImageId, tag);
  if (isFailure(marked)) return `a helper cannot be marked as ours: ${marked.message}`;
  const started = await engine.startContainer(id);
  if (started.kind === 'done' || started.kind === 'noop') return undefined;
  const status = (await engine.inspectContainer(id))?.state.status;
  return status !== undefined && isAlive(status) ? undefined : `a helper cannot be started: ${started.message}`;
}

type FoundFiles = {
  readonly roots: readonly string[];
  /** Why there may be more of them, as a remark on the outcome. Empty if there are not. */
  readonly doubt: string;
};

/**
 * Finds the placed files of a container that is about to be replaced: one call, and one for each changed file. If a
 * proxy forbids them, the files are in doubt.
 */
export async function findPlacedFiles(
  outside: Outside,
  container: Container,
  image: Image | undefined,
  signal?: AbortSignal,
): Promise<FoundFiles> {
  try {
    return await lookForFiles(outside, container, image, signal);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
    return { roots: [], doubt: inDoubt(`they cannot be looked for: ${error.message}`) };
  }
}

async function lookForFiles(
  { engine, log }: Outside,
  container: Container,
  image: Image | undefined,
  signal?: AbortSignal,
): Promise<FoundFiles> {
  const { id, name, settings, imageLabels } = container;
  const changes = await engine.containerChanges(id, signal);
  if (changes === 'absent')
    throw new ServiceError('busy', `Cannot update ${quoted(name)}: someone removed it meanwhile`);
  if (changes === 'too many') return { roots: [], doubt: inDoubt('it has too many changed files to look at all') };
  const paths = pathsToLookAt(container, changes, maxLooks);
  const stats = new Map<string, FileStat>();
  await mapConcurrently(paths, looksAtOnce, async (path) => {
    const stat = await engine.statFile(id, path, signal);
    if (stat !== undefined) stats.set(path, stat);
  });
  const recorded = ownJournal(settings.Config.Labels ?? {}, imageLabels)?.files ?? [];
  const imageCreatedAtMs = image?.createdAtMs ?? 0;
  const { roots, bytes, largest, isUnknowable } = placedFiles(container, {
    changes,
    stats,
    imageCreatedAtMs,
    recorded,
  });
  const refuse = (why: string, path: string): never => {
    throw new ServiceError('invalid-input', `Cannot copy ${quoted(path, 300)} of ${quoted(name)}: ${why}`, {
      remedy: 'mount these files, then create the container again',
    });
  };
  if (bytes > maxBytes)
    refuse(`the files that compose or "docker cp" wrote into it are larger than ${maxBytes / 1_048_576} MB`, largest);
  if (roots.length > maxRoots)
    refuse(`compose or "docker cp" wrote more than ${maxRoots} files into it`, roots.at(-1) ?? '');
  if (roots.length > 0) log.info('Files of a container are copied to the new one', { container: name, files: roots });
  if (isUnknowable) return { roots, doubt: inDoubt('its file system stores no exact times') };
  if (paths.length < maxLooks) return { roots, doubt: '' };
  return { roots, doubt: inDoubt(`only ${maxLooks} of its ${changes.length} changed files were looked at`) };
}

const inDoubt = (why: string): string =>
  `files that compose or "docker cp" wrote into it may be missing, because ${why}`;

/** A look takes 30 ms on a slow engine. */
const maxLooks = 1000;
const looksAtOnce = 8;

/** Placed files are read into memory, one container at a time. They are configurations and secrets. */
const maxBytes = 33_554_432;
const maxRoots = 500;

type CopyPlan = {
  readonly members: readonly Pick<Member, 'oldId' | 'files'>[];
  /** Earlier results, by the old container's id. */
  readonly files: Map<string, FileBundle>;
};

/** Copies the placed files of a member's old container into a new one: its successor, or its replica. */
export async function copyFiles(
  outside: Pick<Outside, 'engine'>,
  { members, files: read }: CopyPlan,
  { id, member: index }: StepOf<'copyFiles'>,
): Promise<StepOutcome> {
  const member = members[index];
  if (member?.files === undefined) return { kind: 'refused', status: 0, message: 'no files of it were looked for' };
  const bundle = read.get(member.oldId) ?? (await readBundle(outside, member.oldId, member.files));
  read.set(member.oldId, bundle);
  return writeBundle(outside, id, bundle);
}

/** The placed files of a container as archives. They outlive it: a prune may remove it in the middle of an update. */
export type FileBundle = readonly {
  readonly path: string;
  readonly archive: Uint8Array;
  /** The folders above it without their content, the outermost first. */
  readonly folders: readonly { readonly path: string; readonly archive: Uint8Array }[];
}[];

/** Reads placed files. Throws a `ServiceError` that names the path. */
async function readBundle(
  { engine }: Pick<Outside, 'engine'>,
  id: string,
  roots: readonly string[],
): Promise<FileBundle> {
  const folders = new Map<string, Uint8Array>();
  const bundle = [];
  for (const path of roots) {
    const archive = await readOne(path);
    for (const folder of foldersAbove(path))
      if (!folders.has(folder)) folders.set(folder, await readOne(folder, { isFolderOnly: true }));
    const above = foldersAbove(path).flatMap((folder) => ({ path: folder, archive: folders.get(folder) ?? archive }));
    bundle.push({ path, archive, folders: above });
  }
  return bundle;

  async function readOne(path: string, { isFolderOnly = false } = {}): Promise<Uint8Array> {
    // The archive of many small files is larger than they are.
    const archive = await engine.readFiles(id, path, { maxBytes: 2 * maxBytes, isFolderOnly });
    if (archive === undefined) throw new ServiceError('not-found', `Cannot copy ${quoted(path, 300)}: it is gone`);
    return archive;
  }
}

/** Writes placed files into a new container, and compares what the container has then. */
async function writeBundle({ engine }: Pick<Outside, 'engine'>, id: string, bundle: FileBundle): Promise<CallOutcome> {
  const present = new Set<string>();
  for (const { path, archive, folders } of bundle) {
    for (const folder of folders) {
      if (present.has(folder.path)) continue;
      present.add(folder.path);
      if ((await engine.statFile(id, folder.path)) !== undefined) continue;
      const made = await write(folder.path, folder.archive);
      if (made !== undefined) return made;
    }
    const written = await write(path, archive);
    if (written !== undefined) return written;
    const copy = await engine.readFiles(id, path, { maxBytes: 2 * maxBytes }).catch((error: unknown) => {
      throw new ServiceError('engine-refused', `Cannot compare ${quoted(path, 300)}: ${describeError(error)}`);
    });
    if (copy === undefined || !isSame(copy, archive))
      return { kind: 'refused', status: 0, message: `${quoted(path, 300)} differs in the new container` };
  }
  return { kind: 'done' };

  async function write(path: string, archive: Uint8Array): Promise<CallOutcome | undefined> {
    const outcome = await engine.writeFiles(id, folderOf(path), archive);
    if (outcome.kind === 'done' || outcome.kind === 'noop') return undefined;
    return { ...outcome, message: `${quoted(path, 300)} cannot be written: ${outcome.message}` };
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
