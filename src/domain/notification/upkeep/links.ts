import { shortId } from '../../container/container.ts';
import type { ContainerOutcome } from '../../run/session.ts';
import type { RunFacts } from '../run-facts.ts';

/** Web pages about a version, with addresses that are safe to print. */
export type Links = { readonly releases: string | undefined; readonly page: string | undefined };

type Labels = Readonly<Record<string, string>>;

/** Links from labels of an image, which its author chose: https://specs.opencontainers.org/image-spec/annotations/ */
export function linksOf(labels: Labels): Links {
  const source = webAddress(labels['org.opencontainers.image.source']);
  const url = webAddress(labels['org.opencontainers.image.url']);
  const releases = source === undefined ? undefined : releasesAt(source);
  return { releases, page: releases === undefined ? (url ?? source) : undefined };
}

/** The release page of a source on a known host, else the source. Undefined if it is not a safe web address. */
export function releasePageOf(source: string): string | undefined {
  const address = webAddress(source);
  return address === undefined ? undefined : (releasesAt(address) ?? address);
}

/** The version in an image's labels. Undefined without one, or if it does not look like a version. */
export function versionOf(labels: Labels | undefined): string | undefined {
  const version = labels?.['org.opencontainers.image.version']?.trim() ?? '';
  return /^[\w][\w.+~:-]{0,63}$/.test(version) ? version : undefined;
}

/**
 * `1.27.2 → 1.27.3`, or the ids of the images if they have no versions or the same one. Empty when nothing is known.
 */
export function versionChange(
  { oldImageId, newImageId }: ContainerOutcome,
  imageLabels: RunFacts['imageLabels'],
): string {
  if (oldImageId === newImageId || newImageId === '') return '';
  const [before, after] = [versionOf(imageLabels.get(oldImageId)), versionOf(imageLabels.get(newImageId))];
  const [oldId, newId] = [shortId(oldImageId), shortId(newImageId)];
  if (before !== undefined && after !== undefined && before !== after) return `${before} → ${after}`;
  return `${withId(before, oldId)} → ${withId(after, newId)}`;
}

function withId(version: string | undefined, id: string): string {
  return version === undefined ? id : `${version} (${id})`;
}

/** Hosts with known addresses of release pages: GitHub, Codeberg and GitLab. */
const releasePaths: ReadonlyMap<string, string> = new Map([
  ['github.com', '/releases'],
  ['codeberg.org', '/releases'],
  ['gitlab.com', '/-/releases'],
]);

function releasesAt(source: string): string | undefined {
  const { hostname, pathname, origin } = new URL(source);
  const path = releasePaths.get(hostname);
  const [owner, repository] = pathname.split('/').filter((part) => part !== '');
  if (path === undefined || owner === undefined || repository === undefined) return undefined;
  return `${origin}/${owner}/${repository.replace(/\.git$/, '')}${path}`;
}

function webAddress(text: string | undefined): string | undefined {
  if (text === undefined || text.length > longestAddress || !URL.canParse(text)) return undefined;
  const { protocol, username, password, href } = new URL(text);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return isWeb && username === '' && password === '' ? href.replaceAll(/[()<>]/g, percentEncoded) : undefined;
}

const longestAddress = 300;

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
