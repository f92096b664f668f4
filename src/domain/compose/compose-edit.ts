import { formatReference, isTag, tryParseImageReference } from '../image/image-reference.ts';
import {
  imagesOf,
  textOf,
  type ComposeImages,
  type ComposeSource,
  type ComposeSources,
  type Pieces,
} from './compose-project.ts';
import type { ComposeClaim, ComposeQuestion, ComposeRefusal, ComposeState } from './compose-state.ts';
import { isSameList } from '../text/plain-data.ts';
import { quoted } from '../text/printable.ts';

/** `edit`: the text of a file after the change that the state tells of. */
export type ComposeComparison = {
  readonly kind: 'compared';
  readonly state: ComposeState;
  readonly edit?: { readonly file: string; readonly text: string };
};

/**
 * Compares a container's reference with its compose files and, if it moves to another tag, finds the one stretch of text
 * that has to change for it. The edited files are evaluated again: nothing but that image may change, or images that
 * move to the same reference.
 */
export function compareWithFiles(
  { project, service, reference, next, claim, moves }: ComposeQuestion,
  sources: ComposeSources,
  /** Reads a changed text of a file again. */
  reparse: (text: string) => ComposeSource,
): ComposeComparison | Extract<ComposeImages, { readonly kind: 'needs' }> {
  const before = imagesOf(project, sources);
  if (before.kind === 'needs') return before;
  if (before.kind === 'fault') return refused(before.fault);
  const image = before.images.get(service);
  if (image === undefined) return refused('no-image');
  const says = textOf(image);
  const place = placeOfTag(image, sources);
  const shown = place === undefined ? {} : { file: place.file, line: place.line };
  if (!isSame(says, reference)) {
    const read = tryParseImageReference(says);
    return read === undefined ? refused('variables') : compared({ state: 'differs', says, ...shown });
  }
  if (next === undefined) return compared({ state: 'same', ...shown });
  const moved = { ...shown, ...(place && { from: place.tag }), to: next };
  if (says.includes('@')) return refused('pinned', moved);
  if (place === undefined || !isTag(next)) return refused('not-literal', moved);
  const source = sources.get(place.file);
  if (typeof source !== 'object') return refused('missing', moved);
  const foreign = claim && whyForeign(project.name, service, claim, before);
  if (foreign !== undefined) return refused('foreign', { ...moved, detail: foreign });
  const edited = source.text.slice(0, place.offset) + next + source.text.slice(place.offset + place.tag.length);
  const reread = source.documents === undefined ? { text: edited } : reparse(edited);
  const after = imagesOf(project, new Map([...sources, [place.file, reread]]));
  if (after.kind !== 'images') return refused('not-literal', moved);
  const wanted = says.slice(0, says.length - place.tag.length) + next;
  if (textOf(after.images.get(service) ?? []) !== wanted) return refused('not-literal', moved);
  const names = new Set([...before.images.keys(), ...after.images.keys()]);
  const others = [...names].filter((name) => {
    const [old, changed] = [before.images.get(name), after.images.get(name)].map((each) => each && textOf(each));
    return name !== service && old !== changed && !isSame(changed ?? '', moves?.get(name) ?? '');
  });
  if (others.length > 0) return refused('shared', { ...moved, services: others.sort() });
  const [other] = [...before.others].find(([at, texts]) => !isSameList(texts, after.others.get(at) ?? [])) ?? [];
  if (other !== undefined) return refused('shared', { ...moved, detail: other });
  const state = { state: 'would-write', ...shown, from: place.tag, to: next } as const;
  return { kind: 'compared', state, edit: { file: place.file, text: edited } };
}

function compared(state: ComposeState): ComposeComparison {
  return { kind: 'compared', state };
}

function refused(reason: ComposeRefusal, more: Partial<ComposeState> = {}): ComposeComparison {
  return compared({ ...more, state: 'refused', reason });
}

/** Why the labels of the container may name a file of somebody else; undefined if everything fits. */
function whyForeign(
  project: string,
  service: string,
  { container, labels }: ComposeClaim,
  { services, statedName }: Extract<ComposeImages, { readonly kind: 'images' }>,
): string | undefined {
  const written = services.get(service);
  if (statedName !== undefined && statedName !== project) return `its project is ${quoted(statedName, 100)}`;
  const own = written?.containerName;
  const isNumbered = ['-', '_'].some((mark) => {
    const start = `${project}${mark}${service}${mark}`;
    return container.startsWith(start) && /^\d{1,9}$/.test(container.slice(start.length));
  });
  if (own === undefined ? !isNumbered : own !== container)
    return `the container ${quoted(container, 100)} has another name than there`;
  const missing = Object.entries(labels).find(([name, value]) => written?.labels.get(name) !== value);
  return missing && `the label ${quoted(missing[0], 100)} is not in it, or has another value`;
}

/** `nginx` and `docker.io/library/nginx:latest` are the same. */
export function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map(tryParseImageReference);
  return first !== undefined && second !== undefined && formatReference(first) === formatReference(second);
}

type TagPlace = { readonly file: string; readonly offset: number; readonly line: number; readonly tag: string };

/** Where the tag stands, if all of it stands in one stretch of a file. */
function placeOfTag(image: Pieces, sources: ComposeSources): TagPlace | undefined {
  const text = textOf(image);
  const tag = tryParseImageReference(text)?.tag ?? '';
  if (tag === '' || !text.endsWith(`:${tag}`)) return undefined;
  let skipped = text.length - tag.length;
  let start: { readonly file: string; readonly offset: number } | undefined;
  let end = 0;
  for (const piece of image) {
    const from = Math.min(skipped, piece.text.length);
    skipped -= from;
    if (from === piece.text.length) continue;
    if (piece.at === undefined) return undefined;
    const offset = piece.at.offset + from;
    if (start === undefined) start = { file: piece.at.file, offset };
    else if (piece.at.file !== start.file || offset !== end) return undefined;
    end = piece.at.offset + piece.text.length;
  }
  const source = start && sources.get(start.file);
  if (start === undefined || typeof source !== 'object') return undefined;
  if (source.text.slice(start.offset, end) !== tag) return undefined;
  return { ...start, line: source.text.slice(0, start.offset).split('\n').length, tag };
}
