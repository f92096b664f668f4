import { lstat, realpath } from 'node:fs/promises';
import { basename, isAbsolute } from 'node:path';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments, type Scalar } from 'yaml';
import { compareWithFiles, isSame, type ComposeComparison } from '../../domain/compose/compose-edit.ts';
import type { ComposeQuestion, ComposeRefusal, ComposeState } from '../../domain/compose/compose-state.ts';
import {
  type ComposeImages,
  type ComposeNode,
  type ComposeProject,
  type ComposeSource,
  imagesOf,
} from '../../domain/compose/compose-project.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import type { ComposeFiles, ComposeOrder } from '../../domain/outside/outside.ts';
import { createQueue, lockFolder, withDeadline } from './folder-lock.ts';
import {
  hashOf,
  heldByEditor,
  isBelow,
  isInRoots,
  keepCopy,
  mendFile,
  readCopy,
  readText,
  rewriteFile,
  type Root,
  whyNotWritable,
  workTreeOf,
} from './rewrite-file.ts';

type ComposeFilesOptions = {
  readonly roots: readonly Root[];
  /** Whether files may be written. */
  readonly writes?: boolean;
  /** The folder for copies of files that are about to be written; undefined: none are kept. */
  readonly copies?: string | undefined;
};

/**
 * Reads compose files that the labels of containers name, within the roots, or anywhere without any, and writes them.
 * The creator of a container writes its labels, so a file is opened only if it is a small regular file that is where
 * its path says, and written only below a root.
 */
export function openComposeFiles({ roots, writes = false, copies }: ComposeFilesOptions): ComposeFiles {
  const inTurn = createQueue();
  return {
    async compare(questions, signal) {
      const world = { roots, sources: new Map<string, ComposeSource>(), paths: new Map<string, string>() };
      const states = new Map<string, ComposeState>();
      const timeout = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), maxMs).unref());
      for (const question of questions) {
        // A folder in a network may answer never.
        const state = signal?.aborted
          ? 'late'
          : await Promise.race([writes ? expectation(question, world) : stateOf(question, world), timeout]);
        if (state === 'late') break;
        states.set(question.id, state);
      }
      return states;
    },
    ...(writes &&
      roots.length > 0 && {
        write: (order: ComposeOrder) => {
          const work = () => inTurn(() => writeAlone(order, { roots, copies }));
          return withDeadline(work(), maxWriteMs, { state: 'pending', reason: 'unreadable' } as const);
        },
      }),
  };
}

/** For all files of a check together. */
const maxMs = 5000;

/** For one file, with the wait for an editor. */
const maxWriteMs = 30_000;

type World = {
  readonly roots: readonly Root[];
  readonly sources: Map<string, ComposeSource>;
  /** The real paths of files that were read, as this process sees them. */
  readonly paths: Map<string, string>;
};

async function stateOf(question: ComposeQuestion, world: World): Promise<ComposeState> {
  return (await comparisonOf(question, world)).state;
}

async function comparisonOf(question: ComposeQuestion, world: World): Promise<ComposeComparison> {
  const read = await readAll(world, () => compareWithFiles(question, world.sources, parseCompose));
  return read ?? { kind: 'compared', state: { state: 'refused', reason: 'too-many-files' } };
}

/** Reads files until the evaluation needs no more; undefined if it needs too many. */
async function readAll<Result extends { readonly kind: string }>(
  { sources, roots, paths }: World,
  evaluate: () => Result | Needs,
): Promise<Result | undefined> {
  // Each round reads files that the ones before name.
  for (let round = 0; round < maxRounds; round += 1) {
    const result = evaluate();
    if (!isNeeding(result)) return result;
    for (const path of result.files.slice(0, maxRounds)) {
      const { source, real } = await readSource(path, roots);
      sources.set(path, source);
      if (real !== undefined) paths.set(path, real);
    }
  }
  return undefined;
}

type Needs = Extract<ComposeImages, { readonly kind: 'needs' }>;

function isNeeding(result: { readonly kind: string }): result is Needs {
  return result.kind === 'needs';
}

const maxRounds = 25;

/** The state with what an update will do, as far as it can be known before. */
async function expectation(question: ComposeQuestion, world: World): Promise<ComposeState> {
  const { state, edit } = await comparisonOf(question, world);
  if (state.state !== 'would-write' || edit === undefined) return state;
  const path = world.paths.get(edit.file);
  const reason = path === undefined ? 'missing' : await whyNotWritable(path);
  return reason === undefined ? { ...state, state: 'will-write' } : { ...state, state: 'refused', reason };
}

type Writing = { readonly roots: readonly Root[]; readonly copies: string | undefined };

/** One write at a time, among all processes that share the folder of the copies. */
async function writeAlone(order: ComposeOrder, { roots, copies }: Writing): Promise<ComposeState> {
  const lock = copies === undefined ? undefined : await lockFolder(`${copies}.lock`, lockTries);
  if (lock?.kind === 'taken') return { state: 'pending', reason: 'busy', detail: 'another Upkeep writes' };
  try {
    return await writeTag(order, { roots, copies });
  } finally {
    if (lock?.kind === 'held') await lock.release();
  }
}

/** About 60 ms apart. */
const lockTries = 80;

async function writeTag(order: ComposeOrder, { roots, copies }: Writing): Promise<ComposeState> {
  const { id, question, from, to, others } = order;
  await mendAfterCrash(order, { roots, copies });
  const world: World = { roots, sources: new Map(), paths: new Map() };
  const { state, edit } = await comparisonOf(question, world);
  const tags = { from: tagOf(from), to: tagOf(to) };
  if (state.state === 'differs') {
    const { says, ...place } = state;
    const isDone = isSame(says ?? '', to);
    return isDone
      ? { ...place, ...tags, state: 'written' }
      : { ...place, ...tags, state: 'refused', reason: 'other-value' };
  }
  if (state.state !== 'would-write' || edit === undefined)
    return state.state === 'refused' ? { ...tags, ...state } : state;
  const refused = (reason: ComposeRefusal, more: object = {}): ComposeState => ({
    ...state,
    ...more,
    state: reason === 'busy' ? 'pending' : 'refused',
    reason,
  });
  const path = world.paths.get(edit.file);
  const source = world.sources.get(edit.file);
  if (path === undefined || typeof source !== 'object') return refused('missing');
  const rival = await ownerAmong(others, path, roots);
  if (rival !== undefined) return refused('foreign', { detail: `the project ${rival} has it too` });
  const [before, after] = [source.text, edit.text].map((text) => Buffer.from(text));
  if (before === undefined || after === undefined) return refused('unreadable');
  const reason = await whyNotWritable(path);
  if (reason !== undefined) return refused(reason);
  const mark = await heldByEditor(path);
  if (mark !== undefined) return refused('busy', { detail: basename(mark) });
  if (copies !== undefined) await keepCopy(copies, id, before);
  await order.onWriting({ path, before: hashOf(before), after: hashOf(after), ...tags });
  const done = await rewriteFile(path, before, after);
  if (done.kind === 'written') {
    const tree = await workTreeOf(path).catch(() => undefined);
    return { ...state, state: 'written', ...(tree !== undefined && { detail: `commit it in ${tree}` }) };
  }
  if (done.kind === 'refused') return refused(done.reason, done);
  return { ...state, state: 'failed', detail: done.error };
}

/** A write that the end of a process has cut off leaves a mixture of two texts, which the kept copy shows. */
async function mendAfterCrash({ id, interrupted, question }: ComposeOrder, { roots, copies }: Writing): Promise<void> {
  const before = copies === undefined || interrupted === undefined ? undefined : await readCopy(copies, id);
  if (before === undefined || interrupted === undefined || hashOf(before) !== interrupted.before) return;
  const { path, from, to } = interrupted;
  // The record is ours, but a folder above may have become a link since.
  if (!(await isInRoots(path, roots)) || (await realpath(path).catch(() => undefined)) !== path) return;
  const text = before.toString();
  for (let at = text.indexOf(from); at !== -1; at = text.indexOf(from, at + 1)) {
    const after = Buffer.from(text.slice(0, at) + to + text.slice(at + from.length));
    if (hashOf(after) !== interrupted.after) continue;
    await mendFile({ path, before, after, end: question.next === to ? after : before });
    return;
  }
}

function tagOf(reference: string): string {
  return tryParseImageReference(reference)?.tag ?? '';
}

/** The name of another project that has the file too. */
async function ownerAmong(
  others: readonly ComposeProject[],
  path: string,
  roots: readonly Root[],
): Promise<string | undefined> {
  for (const project of others.slice(0, maxProjects)) {
    const world: World = { roots, sources: new Map(), paths: new Map() };
    await readAll(world, () => imagesOf(project, world.sources));
    if ([...world.paths.values()].includes(path)) return project.name;
  }
  return undefined;
}

const maxProjects = 200;

async function readSource(
  path: string,
  roots: readonly Root[],
): Promise<{ readonly source: ComposeSource; readonly real?: string }> {
  const place = placeOf(path, roots);
  if (place === undefined) return { source: 'outside-roots' };
  try {
    const real = await realpath(place);
    if (!(await isInRoots(real, roots))) return { source: 'outside-roots' };
    const text = (await lstat(real)).isFile() ? await readText(real) : undefined;
    return { source: text === undefined ? 'unreadable' : parseCompose(text), real };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return { source: code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unreadable' };
  }
}

/** Where this process sees it; undefined outside of the roots. */
function placeOf(path: string, roots: readonly Root[]): string | undefined {
  if (!isAbsolute(path) || path.includes('\0')) return undefined;
  if (roots.length === 0) return path;
  const root = roots.find(({ named }) => isBelow(path, named));
  return root && root.seen + path.slice(root.named.length);
}

/** A text in the form of compose files. Without `documents` it is none, or it has more than a compose file may have. */
export function parseCompose(text: string): ComposeSource & object {
  try {
    const documents = parseAllDocuments(text, { uniqueKeys: false, logLevel: 'silent', version: '1.2' });
    if (!Array.isArray(documents) || documents.some(({ errors }) => errors.length > 0)) return { text };
    return { text, documents: documents.map((document) => convert(document, text)) };
  } catch {
    // Too much of it, or an alias that leads nowhere.
    return { text };
  }
}

const maxNodes = 50_000;

const maxDepth = 50;

/** Each node is converted once, so that aliases of aliases take no time. */
function convert(document: Document, source: string): ComposeNode {
  const done = new Map<Node, ComposeNode>();
  let nodes = 0;

  function read(node: unknown, depth: number): ComposeNode {
    if ((nodes += 1) > maxNodes || depth > maxDepth) throw new Error('too large');
    if (isAlias(node)) return read(node.resolve(document), depth + 1);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return empty;
    const known = done.get(node);
    if (known !== undefined) return known;
    const made = node.tag === '!reset' ? ({ kind: 'none' } as const) : readNew(node, depth);
    done.set(node, made);
    return made;
  }

  function readNew(node: Node, depth: number): ComposeNode {
    if (isScalar(node)) return textNode(node, source);
    if (isSeq(node)) return { kind: 'list', items: node.items.map((item) => read(item, depth + 1)) };
    if (!isMap(node)) return empty;
    const entries = new Map<string, ComposeNode>();
    const merged: ComposeNode[] = [];
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : undefined;
      if (name === undefined) continue;
      const inner = read(value, depth + 1);
      // Compose refuses a file with a repeated key.
      if (name !== '<<' && entries.has(name)) throw new Error('a repeated key');
      if (name === '<<') merged.push(...(inner.kind === 'list' ? inner.items : [inner]));
      else entries.set(name, inner);
    }
    // A key of the map itself counts before merged ones, and of those the first.
    for (const each of merged)
      if (each.kind === 'map')
        for (const [name, inner] of each.entries) if (!entries.has(name)) entries.set(name, inner);
    return node.tag === '!override' ? { kind: 'map', entries, replaces: true } : { kind: 'map', entries };
  }

  return read(document.contents, 0);
}

const empty: ComposeNode = { kind: 'text', text: '' };

function textNode(node: Scalar, source: string): ComposeNode {
  const text = typeof node.value === 'string' ? node.value : node.value === null ? '' : (node.source ?? '');
  const [start, end] = node.range ?? [0, 0];
  const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
  if (!isQuoted && node.type !== 'PLAIN') return { kind: 'text', text };
  const [from, to] = isQuoted ? [start + 1, end - 1] : [start, end];
  return source.slice(from, to) === text && text !== '' ? { kind: 'text', text, at: from } : { kind: 'text', text };
}
