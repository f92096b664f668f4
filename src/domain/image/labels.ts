import { shortDigest, tryParseImageReference, splitReference, type ImageReference } from './image-reference.ts';
import { parseVersionTag } from './version-tag.ts';
import { printable, withoutQuotes } from '../text/printable.ts';

/** Labels of containers: the names with a meaning, and whose a label is. */

/** Prefix of Upkeep's own labels, such as `upkeep.enable`. They take precedence over the drop-in ones. */
export const ownPrefix = 'upkeep.';

/**
 * Prefix of Watchtower's labels, such as `com.centurylinklabs.watchtower.enable`. They have the same meaning as
 * Upkeep's own.
 */
export const dropInPrefix = 'com.centurylinklabs.watchtower.';

/** Prefix of the labels of an update's journal. No label for users has it. */
export const journalPrefix = 'upkeep.tx.';

/** Prefix of every label with a meaning in the Watchtower family. */
export const familyPrefix = 'com.centurylinklabs.';

/** `true` marks a container of the Watchtower family itself. */
export const watchtowerLabel = 'com.centurylinklabs.watchtower';

/** The reference that replaces `Config.Image`, as the Zodiac deploy tool writes it. */
export const originalImageLabel = 'com.centurylinklabs.zodiac.original-image';

/** Names under the drop-in prefix that Watchtower writes for itself. */
export const watchtowerInternals: readonly string[] = ['container-chain', 'ephemeral-orchestrator'];

export type Labels = Readonly<Record<string, string>>;

/** Own properties only, because a label may have the name of a prototype's property. */
export function labelOf(labels: Labels | undefined, name: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/**
 * The labels that were given to the container itself. A label with the same value in its image counts as the image's.
 * An update writes all labels of its journal at once, so a journal is judged as a whole: it is the container's own if
 * one of its labels is not the image's. If the image is not known (undefined), every label may be the image's, so the
 * result is empty.
 */
export function containerOwnLabels(labels: Labels, imageLabels: Labels | undefined): Labels {
  if (imageLabels === undefined) return {};
  const isImages = (label: string) => Object.hasOwn(imageLabels, label) && imageLabels[label] === labels[label];
  const names = Object.keys(labels);
  const ownJournal = names.some((label) => label.startsWith(journalPrefix) && !isImages(label));
  const own = names.filter((label) => (label.startsWith(journalPrefix) ? ownJournal : !isImages(label)));
  return Object.fromEntries(own.map((label) => [label, labels[label] ?? '']));
}

/** A label on the command line: `tier=web`, or `tier=` for any value. */
type LabelPair = {
  readonly label: string;
  /** Empty: any. */
  readonly value: string;
};

/** Undefined without an equals sign, without a name, or beyond the length limit of labels. */
export function parseLabelPair(text: string): LabelPair | undefined {
  if (text.length > maxPairLength) return undefined;
  const [, label = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  return label.trim() === '' ? undefined : { label: label.trim(), value: value.trim() };
}

/** Whether the labels contain one of the pairs. A pair that cannot be read matches nothing. */
export function carriesAny(labels: Readonly<Record<string, string>>, texts: readonly string[]): boolean {
  return texts.some((text) => {
    const pair = parseLabelPair(text);
    if (pair === undefined || !Object.hasOwn(labels, pair.label)) return false;
    return pair.value === '' || withoutQuotes(labels[pair.label] ?? '') === withoutQuotes(pair.value);
  });
}

/** Limit of containerd: https://github.com/containerd/containerd/blob/main/pkg/labels/validate.go */
const maxPairLength = 4096;

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
  const isSure = !isBuiltHere || (tag !== undefined && isVersion(tag) && isMoreExact(version, tag));
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

function isMoreExact(version: string | undefined, tag: string): boolean {
  const [labelled, tagged] = [version ?? '', tag].map((text) => parseVersionTag(text)?.numbers ?? numbersOf(text));
  return (labelled?.length ?? 0) > (tagged?.length ?? 0);
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
