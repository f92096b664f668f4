import { constants } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments, type Scalar } from 'yaml';
import { compareWithFiles } from '../../domain/compose/compose-edit.ts';
import type { ComposeQuestion, ComposeState } from '../../domain/compose/compose-state.ts';
import type { ComposeNode, ComposeSource } from '../../domain/compose/compose-project.ts';
import type { ComposeFiles } from '../../domain/outside/outside.ts';

/** A folder that may be read: as the labels of containers name it, and where this process sees it. */
export type ComposeRoot = { readonly named: string; readonly seen: string };

/**
 * Reads compose files that the labels of containers name, within the roots, or anywhere without any. Whoever creates a
 * container writes its labels, so a file is opened only if it is a small regular file that is where its path says.
 */
export function openComposeFiles(roots: readonly ComposeRoot[]): ComposeFiles {
  return {
    async compare(questions, signal) {
      const sources = new Map<string, ComposeSource>();
      const states = new Map<string, ComposeState>();
      const timeout = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), maxMs).unref());
      for (const question of questions) {
        // A folder in a network may answer never.
        const state = signal?.aborted ? 'late' : await Promise.race([stateOf(question, sources, roots), timeout]);
        if (state === 'late') break;
        states.set(question.id, state);
      }
      return states;
    },
  };
}

/** For all files of a check together. */
const maxMs = 5000;

async function stateOf(
  question: ComposeQuestion,
  sources: Map<string, ComposeSource>,
  roots: readonly ComposeRoot[],
): Promise<ComposeState> {
  // Each round reads files that the ones before name.
  for (let round = 0; round < maxRounds; round += 1) {
    const state = compareWithFiles(question, sources, parseCompose);
    if (!('kind' in state)) return state;
    for (const path of state.files.slice(0, maxRounds)) sources.set(path, await readSource(path, roots));
  }
  return { state: 'refused', reason: 'too-many-files' };
}

const maxRounds = 25;

async function readSource(path: string, roots: readonly ComposeRoot[]): Promise<ComposeSource> {
  const place = placeOf(path, roots);
  if (place === undefined) return 'outside-roots';
  try {
    const real = await realpath(place.path);
    if (place.root !== undefined && !isBelow(real, await realpath(place.root))) return 'outside-roots';
    const text = (await lstat(real)).isFile() ? await readText(real) : undefined;
    return text === undefined ? 'unreadable' : parseCompose(text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unreadable';
  }
}

function placeOf(
  path: string,
  roots: readonly ComposeRoot[],
): { readonly path: string; readonly root?: string } | undefined {
  if (!isAbsolute(path) || path.includes('\0')) return undefined;
  if (roots.length === 0) return { path };
  const root = roots.find(({ named }) => isBelow(path, named));
  return root && { path: root.seen + path.slice(root.named.length), root: root.seen };
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Undefined if it is no regular file, too large, no UTF-8, or another file than a moment ago. */
async function readText(real: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { size } = await file.stat().then((stats) => (stats.isFile() ? stats : { size: Infinity }));
    if (size > maxBytes) return undefined;
    // A folder above may have become a link.
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => real);
    if (opened !== real) return undefined;
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
    if (bytesRead > maxBytes) return undefined;
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Reading takes the time of the whole service, and no compose file is as large. */
const maxBytes = 256 * 1024;

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
    return { kind: 'map', entries };
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
