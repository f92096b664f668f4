import { type Json, linkOf, numberOf, objectOf, objectsOf, oneOf, textOf, timeOf } from './reading.ts';

/** A release of `GET /v1/notes?full=true`. */
export type NotesRelease = {
  readonly tag: string;
  readonly title: string;
  readonly url: string;
  readonly publishedAtMs: number | undefined;
  readonly breaking: readonly string[];
  readonly blocks: readonly NotesBlock[];
};

/** Texts are foreign. A link has an https address. */
export type NotesSpan =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em'; readonly spans: readonly NotesSpan[] }
  | { readonly kind: 'link'; readonly href: string; readonly spans: readonly NotesSpan[] };

export type NotesBlock =
  | { readonly kind: 'heading'; readonly level: number; readonly spans: readonly NotesSpan[] }
  | { readonly kind: 'para'; readonly spans: readonly NotesSpan[] }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly (readonly NotesBlock[])[] }
  | { readonly kind: 'quote'; readonly alert: string; readonly blocks: readonly NotesBlock[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'rule' };

/** The releases with their texts, the newest first. Nodes of another kind are omitted. */
export function readReleases(document: unknown): readonly NotesRelease[] {
  return objectsOf(objectOf(document)['list']).map((one) => ({
    tag: textOf(one['tag']),
    title: textOf(one['title']),
    url: linkOf(one['url']),
    publishedAtMs: timeOf(one['published_at']),
    breaking: objectsOf(one['breaking']).map(({ text }) => textOf(text)),
    blocks: readBlocks(one['blocks'], 0),
  }));
}

function readBlocks(value: unknown, depth: number): readonly NotesBlock[] {
  return depth > maxDepth ? [] : objectsOf(value).flatMap((block) => readBlock(block, depth) ?? []);
}

/** Deeper than any tree of the service. */
const maxDepth = 60;

function readBlock(block: Json, depth: number): NotesBlock | undefined {
  const spans = readSpans(block['spans'], 0);
  switch (block['kind']) {
    case 'heading':
      return { kind: 'heading', level: numberOf(block['level']) ?? 1, spans };
    case 'para':
      return { kind: 'para', spans };
    case 'list': {
      const { items } = block;
      const read = Array.isArray(items) ? items.map((item) => readBlocks(item, depth + 1)) : [];
      return { kind: 'list', isOrdered: block['isOrdered'] === true, items: read };
    }
    case 'quote':
      return { kind: 'quote', alert: textOf(block['alert']), blocks: readBlocks(block['blocks'], depth + 1) };
    case 'code':
      return { kind: 'code', text: textOf(block['text']) };
    default:
      return block['kind'] === 'rule' ? { kind: 'rule' } : undefined;
  }
}

function readSpans(value: unknown, depth: number): readonly NotesSpan[] {
  return depth > maxDepth ? [] : objectsOf(value).flatMap((span) => readSpan(span, depth) ?? []);
}

function readSpan(span: Json, depth: number): NotesSpan | undefined {
  const kind = oneOf(['text', 'code', 'strong', 'em', 'link'], span['kind']);
  if (kind === undefined) return undefined;
  if (kind === 'text' || kind === 'code') return { kind, text: textOf(span['text']) };
  const spans = readSpans(span['spans'], depth + 1);
  if (kind !== 'link') return { kind, spans };
  const href = linkOf(span['href']);
  return href.startsWith('https://') ? { kind, href, spans } : { kind: 'em', spans };
}
