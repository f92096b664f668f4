import type { CallOutcome } from '../../../domain/outside/engine.ts';
import type { Container, Image } from '../../../domain/container/container.ts';
import {
  type FileStat,
  folderOf,
  foldersAbove,
  pathsToLookAt,
  placedFiles,
} from '../../../domain/container/placed-files.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { Member } from '../../../domain/transaction/facts.ts';
import type { StepOutcome } from '../../../domain/transaction/memory.ts';
import type { StepOf } from '../../../domain/transaction/member.ts';
import { ownJournal } from '../../../domain/transaction/journal.ts';
import { mapConcurrently } from '../../async/concurrency.ts';

export type FoundFiles = {
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
    throw new ServiceError('busy', `Cannot update ${quoted(name)}: somebody removed it meanwhile`);
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
export async function readBundle(
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
export async function writeBundle(
  { engine }: Pick<Outside, 'engine'>,
  id: string,
  bundle: FileBundle,
): Promise<CallOutcome> {
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
