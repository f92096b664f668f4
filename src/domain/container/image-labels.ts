import { labelOf, type Labels } from './label-names.ts';
import { shortDigest } from '../reference/digest.ts';
import { tryParseImageReference } from '../reference/image-reference.ts';
import { printable } from '../text/printable.ts';

/**
 * Labels that describe an image: https://github.com/opencontainers/image-spec/blob/main/annotations.md#pre-defined-annotation-keys
 */
const versionLabel = 'org.opencontainers.image.version';
const pageLabels = ['org.opencontainers.image.source', 'org.opencontainers.image.url'];

export type VersionFacts = {
  /** Labels of the image; undefined when they are not known. */
  readonly labels: Labels | undefined;
  /** The reference of the container in short form. */
  readonly image: string;
  /** A digest or an image id; empty when it is not known. */
  readonly digest: string;
};

/**
 * The version of an image for display: its label, else a tag that looks like a version, else 12 hex digits. Undefined
 * when nothing is known.
 */
export function versionOf({ labels, image, digest }: VersionFacts): string | undefined {
  const tag = tryParseImageReference(image)?.tag;
  return (
    labelledVersion(labels) ?? (tag !== undefined && looksLikeVersion.test(tag) ? tag : undefined) ?? short(digest)
  );
}

/** The version in an image's label, at most 100 printable characters. Undefined without one. */
export function labelledVersion(labels: Labels | undefined): string | undefined {
  const shown = printable(labelOf(labels, versionLabel)?.trim() ?? '', longestVersion);
  return shown === '' ? undefined : shown;
}

/** A web page about an image: its source URL, else its home page. Only `http` and `https`, at most 500 characters. */
export function sourceOf(labels: Labels | undefined): string | undefined {
  for (const name of pageLabels) {
    const text = labelOf(labels, name) ?? '';
    const url = text.length <= longestPage && URL.canParse(text) ? new URL(text) : undefined;
    const isPlain = url?.username === '' && url.password === '';
    if (isPlain && /^https?:$/.test(url.protocol) && url.href.length <= longestPage) return url.href;
  }
  return undefined;
}

/** `build`: the same version in another image. */
export const versionChanges = ['major', 'minor', 'patch', 'build'] as const;

export type VersionChange = (typeof versionChanges)[number];

/**
 * The running version, and facts about a newer image. A field is absent if it is unknown or there is no newer image.
 */
export type ImageVersions = {
  /** Version for display: see `versionOf`. */
  readonly version?: string;
  readonly latestVersion?: string;
  readonly change?: VersionChange;
  /** When the newer image was built, milliseconds since the epoch. */
  readonly releasedAtMs?: number;
  /** The compressed size of its layers. Absent when the engine already has it. */
  readonly downloadBytes?: number;
  readonly sourceUrl?: string;
};

/** The kind of step between two versions. Undefined if they cannot be compared. */
export function changeBetween(from: string, to: string): VersionChange | undefined {
  const [old, young] = [numbersOf(from), numbersOf(to)];
  if (old === undefined || young === undefined) return from === to && !isShortDigest(from) ? 'build' : undefined;
  const length = Math.max(old.length, young.length);
  const place = Array.from({ length }, (_, index) => index).find((index) => (old[index] ?? 0) !== (young[index] ?? 0));
  if (place === undefined) return 'build';
  return place === 0 ? 'major' : place === 1 ? 'minor' : 'patch';
}

const longestVersion = 100;
const longestPage = 500;

/** `1.27`, `v2`, `16-alpine`, `2026.1.0-ls12`. */
const looksLikeVersion = /^v?\d{1,8}(?:[-_+.][\w.+-]*)?$/;

function short(digest: string): string | undefined {
  return digest === '' ? undefined : shortDigest(digest);
}

function isShortDigest(text: string): boolean {
  return /^[0-9a-f]{12}$/.test(text);
}

/** The leading numbers: `v1.2.3-alpine` has three. Undefined for a text that is not a version. */
function numbersOf(version: string): readonly number[] | undefined {
  if (isShortDigest(version) || !looksLikeVersion.test(version)) return undefined;
  const [numbers = ''] = /\d+(?:\.\d+)*/.exec(version) ?? [];
  return numbers.split('.').map(Number);
}
