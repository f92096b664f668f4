import type { RawSpec } from '../../../domain/container/swarm-service.ts';
import type { ServiceEdit } from '../../../domain/outside/engine.ts';

/**
 * Edits the text of a spec. Every byte outside the edit stays, because parsing and printing would change numbers beyond
 * 2^53. Undefined for a spec without an image, e.g. of a plugin.
 */
export function editSpec(spec: RawSpec, edit: Omit<ServiceEdit, 'credentials'>): string | undefined {
  const image = spanAt(spec, ['TaskTemplate', 'ContainerSpec', 'Image']);
  if (image === undefined) return undefined;
  return replaced(spec, [
    { span: image, text: JSON.stringify(edit.image) },
    ...labelEdits(spec, edit.labels),
    ...platformEdits(spec, edit.platforms),
  ]);
}

type Replacement = { readonly span: Span; readonly text: string };

function labelEdits(spec: string, labels: ServiceEdit['labels']): readonly Replacement[] {
  const written = Object.entries(labels).map(([key, value]) => [key, JSON.stringify(value)] as const);
  if (written.length === 0) return [];
  const asObject = `{${written.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
  const present = spanAt(spec, ['Labels']);
  if (present === undefined) return [insertedFirst(spec, 0, `"Labels":${asObject}`)];
  const members = membersAt(spec, present.start);
  if (members === undefined) return [{ span: present, text: asObject }];
  const valueOf = (key: string) => members.findLast((member) => member.key === key)?.value;
  const added = written.filter(([key]) => valueOf(key) === undefined);
  const text = added.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',');
  return [
    ...written.flatMap(([key, value]) => {
      const span = valueOf(key);
      return span === undefined ? [] : [{ span, text: value }];
    }),
    ...(added.length > 0 ? [insertedFirst(spec, present.start, text)] : []),
  ];
}

/**
 * Docker's client writes the platforms of an index when it pins an image. A spec without platforms stays without them.
 * Like the client, this names no architecture for arm, because nodes report its variant there:
 * https://github.com/moby/swarmkit/issues/2294
 */
function platformEdits(spec: string, platforms: ServiceEdit['platforms']): readonly Replacement[] {
  const span = spanAt(spec, ['TaskTemplate', 'Placement', 'Platforms']);
  if (span === undefined || platforms === undefined) return [];
  const list = platforms.map(({ os, architecture }) => ({
    ...(architecture !== 'arm' && { Architecture: architecture }),
    OS: os,
  }));
  return [{ span, text: JSON.stringify(list) }];
}

function insertedFirst(text: string, objectAt: number, member: string): Replacement {
  const at = text.indexOf('{', objectAt) + 1;
  const isEmpty = membersAt(text, objectAt)?.length === 0;
  return { span: { start: at, end: at }, text: isEmpty ? member : `${member},` };
}

function replaced(text: string, replacements: readonly Replacement[]): string {
  let result = text;
  for (const { span, text: piece } of replacements.toSorted((one, other) => other.span.start - one.span.start)) {
    result = result.slice(0, span.start) + piece + result.slice(span.end);
  }
  return result;
}

/** Part of a text, from `start` up to but not including `end`. */
export type Span = { readonly start: number; readonly end: number };

type Member = { readonly key: string; readonly value: Span };

/**
 * The members of the object that begins at `at`, in their order, repeated keys included. Undefined if another value
 * begins there. The text must be valid JSON; it is not checked again.
 */
export function membersAt(text: string, at: number): readonly Member[] | undefined {
  const start = skipBlanks(text, at);
  if (text[start] !== '{') return undefined;
  const members: Member[] = [];
  let place = skipBlanks(text, start + 1);
  while (text[place] === '"') {
    const keyEnd = endOfString(text, place);
    const key: unknown = JSON.parse(text.slice(place, keyEnd));
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const value = { start: valueStart, end: endOfValue(text, valueStart) };
    members.push({ key: String(key), value });
    place = skipBlanks(text, afterComma(text, value.end));
  }
  return members;
}

/** The elements of the list that begins at `at`. Undefined if another value begins there. */
export function elementsAt(text: string, at: number): readonly Span[] | undefined {
  const start = skipBlanks(text, at);
  if (text[start] !== '[') return undefined;
  const elements: Span[] = [];
  let place = skipBlanks(text, start + 1);
  while (place < text.length && text[place] !== ']') {
    const element = { start: place, end: endOfValue(text, place) };
    elements.push(element);
    place = skipBlanks(text, afterComma(text, element.end));
  }
  return elements;
}

/** The value at the end of a path of keys. The last one of a repeated key counts, as for `JSON.parse`. */
export function spanAt(text: string, path: readonly string[], from = 0): Span | undefined {
  let span: Span | undefined = { start: skipBlanks(text, from), end: text.length };
  for (const key of path) {
    span = membersAt(text, span.start)?.findLast((member) => member.key === key)?.value;
    if (span === undefined) return undefined;
  }
  return path.length > 0 ? span : { start: span.start, end: endOfValue(text, span.start) };
}

export function sliceOf(text: string, { start, end }: Span): string {
  return text.slice(start, end);
}

/** Counts brackets instead of recursion, so that any depth of nesting is safe. */
function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== '{' && first !== '[') return endOfWord(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

/** A number, `true`, `false` or `null`. */
function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && !/[\s,\]}]/.test(text[at] ?? '')) at += 1;
  return at;
}

function afterComma(text: string, at: number): number {
  const place = skipBlanks(text, at);
  return text[place] === ',' ? place + 1 : place;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text[at])) at += 1;
  return at;
}

/** https://www.rfc-editor.org/rfc/rfc8259#section-2 */
function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}
