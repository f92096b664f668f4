import { labelOf, type Labels } from './labels.ts';
import { shortDigest, tryParseImageReference, splitReference, type ImageReference } from './image-reference.ts';
import { parseVersionTag } from './version-tag.ts';
import { printable } from '../text/printable.ts';

export type VersionFacts = {
  /** Labels of the image; undefined when they are not known. */
  readonly labels: Labels | undefined;
  /** The reference of the container in short form. */
  readonly image: string;
  /** A digest or an image id; empty when it is not known. */
  readonly digest: string;
  /**
   * No registry is known to have the image: its labels may be of an image that it was built from, and its tag is its
   * name. Never with containerd's image store, which lists each image with a digest.
   */
  readonly isBuiltHere?: boolean;
};

/**
 * The version of an image for display: its label, else a tag that looks like a version, else 12 hex digits. A label that
 * may come from the base image does not count. Undefined when nothing is known.
 */
export function versionOf({ labels, image, digest, isBuiltHere = false }: VersionFacts): string | undefined {
  const reference = tryParseImageReference(image);
  const tag = reference?.tag;
  const version = labelledVersion(labels);
  const isSure = !isBuiltHere || (tag !== undefined && isVersion(tag));
  if (version !== undefined && isSure && !areInherited(labels, reference)) return version;
  if (tag !== undefined && (isBuiltHere || isVersion(tag))) return tag;
  return digest === '' ? undefined : shortDigest(digest);
}

/**
 * Whether the labels describe the base image and not this one: images inherit them, as Ubuntu's `ref.name=ubuntu` and
 * `version=22.04`. A version in the tag decides where it contradicts the one in the label.
 */
export function areInherited(labels: Labels | undefined, reference: ImageReference | undefined): boolean {
  if (namesAnother(labelOf(labels, nameLabel)?.trim() ?? '', reference)) return true;
  if (titleLabels.some((label) => isTitleOfBase(labelOf(labels, label)?.trim() ?? '', reference))) return true;
  const [version, tag] = [labelledVersion(labels), reference?.tag];
  return version !== undefined && tag !== undefined && isVersion(tag) && !agree(version, tag);
}

/** `build`: the same version in another image. */
export const versionChanges = ['major', 'minor', 'patch', 'build'] as const;

type VersionChange = (typeof versionChanges)[number];

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

/** The versions of a running image and a newer one. Two images of one word, such as `latest`, have their digests. */
export function versionsBetween(
  running: VersionFacts,
  newer: VersionFacts,
): Pick<ImageVersions, 'version' | 'latestVersion' | 'change'> {
  const [from, to] = [versionOf(running), versionOf(newer)];
  const isWord = from !== undefined && from === to && !isVersion(from) && from === wordOf(running);
  const [version, latestVersion] = isWord ? [running, newer].map(({ digest }) => shortDigest(digest)) : [from, to];
  const change =
    version === undefined || latestVersion === undefined ? undefined : changeBetween(version, latestVersion);
  return {
    ...(version !== undefined && { version }),
    ...(latestVersion !== undefined && { latestVersion }),
    ...(change !== undefined && { change }),
  };
}

/** The kind of step between two versions. Undefined if they cannot be compared. */
export function changeBetween(from: string, to: string): VersionChange | undefined {
  const [old, young] = [numbersOf(from), numbersOf(to)];
  if (old === undefined || young === undefined) return from === to && !isShortDigest(from) ? 'build' : undefined;
  const length = Math.max(old.length, young.length);
  const place = Array.from({ length }, (_, index) => index).find((index) => (old[index] ?? 0) !== (young[index] ?? 0));
  if (place === undefined) return 'build';
  return place === 0 ? 'major' : place === 1 ? 'minor' : 'patch';
}

/** https://github.com/opencontainers/image-spec/blob/main/annotations.md#pre-defined-annotation-keys */
const versionLabel = 'org.opencontainers.image.version';
const nameLabel = 'org.opencontainers.image.ref.name';
const titleLabels: readonly string[] = ['org.opencontainers.image.title', 'org.opencontainers.image.name'];

/** The labels of an image that this module reads. */
export const versionLabels: readonly string[] = [versionLabel, nameLabel, ...titleLabels];

/** At most 100 printable characters. Undefined without one. */
function labelledVersion(labels: Labels | undefined): string | undefined {
  const shown = printable(labelOf(labels, versionLabel)?.trim() ?? '', maxVersion);
  return shown === '' ? undefined : shown;
}

const maxVersion = 100;

/**
 * Whether `ref.name` is the name of another repository. Builders also write a tag, a branch or a commit there (Bitnami,
 * linuxserver.io), which names none.
 */
function namesAnother(name: string, reference: ImageReference | undefined): boolean {
  const word = name.replace(/^refs\/(?:heads|tags)\//, '');
  if (word === '' || word === reference?.tag || branches.has(word) || /^v?\d/.test(word) || commit.test(word))
    return false;
  const parts = splitReference(name);
  if ('fault' in parts || reference === undefined) return true;
  const named = parts.repository.replace(/^library\//, '');
  return reference.repository !== named && !reference.repository.endsWith(`/${named}`);
}

const branches: ReadonlySet<string> = new Set(
  'main master trunk develop dev latest stable edge nightly beta HEAD'.split(' '),
);

const commit = /^(?:sha-)?[0-9a-f]{7,64}$/;

/** Titles are free text, so only those of common bases count, in images whose repository does not name them. */
function isTitleOfBase(title: string, reference: ImageReference | undefined): boolean {
  const [, name = ''] = baseTitle.exec(title.toLowerCase().slice(0, maxVersion)) ?? [];
  return name !== '' && reference?.repository.includes(name.replace(/ql$/, '')) === false;
}

const baseTitle =
  /^(?:the )?(?:official )?(alpine|debian|ubuntu|fedora|centos|rockylinux|almalinux|nginx|redis|valkey|postgresql|postgres|mysql|mariadb|mongodb|rabbitmq|kafka|elasticsearch|php|python|node|java|tomcat|jenkins|grafana|wordpress)(?: (?:docker |container |base )*image)?$/;

/** Whether the first two numbers are equal, as far as both have them. */
function agree(version: string, tag: string): boolean {
  const [labelled, tagged] = [version, tag].map((text) => parseVersionTag(text)?.numbers ?? numbersOf(text));
  if (labelled === undefined || tagged === undefined) return false;
  return [0, 1].every((at) => (labelled[at] ?? tagged[at]) === (tagged[at] ?? labelled[at]));
}

function isVersion(tag: string): boolean {
  return looksLikeVersion.test(tag) || parseVersionTag(tag) !== undefined;
}

/** `1.27`, `v2`, `16-alpine`, `2026.1.0-ls12`. */
const looksLikeVersion = /^v?\d{1,8}(?:[-_+.][\w.+-]*)?$/;

function wordOf({ image }: VersionFacts): string | undefined {
  return tryParseImageReference(image)?.tag;
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
