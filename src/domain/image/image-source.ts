import { areInherited, labelOf, type Labels } from './image-labels.ts';
import { tryParseImageReference } from './image-reference.ts';

export type SourceFacts = {
  /** Labels of the image; undefined when they are not known. */
  readonly labels: Labels | undefined;
  /** Annotations of its manifest, and of the entries that lead to it. No image inherits them. */
  readonly annotations?: Labels | undefined;
  /** The reference of the container. */
  readonly image: string;
};

/**
 * A web page about an image: its source, else its home page. Labels that may come from the base image do not count. Only
 * `http` and `https`, at most 500 characters.
 */
export function sourceOf({ labels, annotations, image }: SourceFacts): string | undefined {
  const own = ownLabels(labels, image);
  return firstPage([
    [own, sourceLabel],
    [annotations, sourceLabel],
    [own, formerSourceLabel],
    [own, homeLabel],
    [annotations, homeLabel],
  ]);
}

/** The labels and annotations that this module reads. */
export const sourceAnnotations: readonly string[] = [
  'org.opencontainers.image.source',
  'org.opencontainers.image.url',
  'org.label-schema.vcs-url',
];

const [sourceLabel = '', homeLabel = '', formerSourceLabel = ''] = sourceAnnotations;

/** Web pages about a version, with addresses that are safe to print. */
export type Links = { readonly releases: string | undefined; readonly page: string | undefined };

/**
 * Links from labels of an image, which its author chose: https://specs.opencontainers.org/image-spec/annotations/ A
 * source that is known from elsewhere counts where they name none.
 */
export function linksOf(facts: SourceFacts, knownSource = ''): Links {
  const source = sourceOf(facts) ?? webAddress(knownSource);
  const releases = source === undefined ? undefined : releasesAt(source);
  const page = releases === undefined ? (homeOf(facts) ?? source) : undefined;
  return { releases: printableLink(releases), page: printableLink(page) };
}

/** The release page of a source on a known host, else the source. Undefined if it is not a safe web address. */
export function releasePageOf(source: string): string | undefined {
  const address = webAddress(source);
  return address === undefined ? undefined : printableLink(releasesAt(address) ?? address);
}

/** The labels of a container or its image in which projects and their users give an icon, as the address of a file. */
const iconLabels = [
  'io.artifacthub.package.logo-url',
  'org.opencontainers.image.logo',
  'net.unraid.docker.icon',
  'homepage.icon',
] as const;

/** The icon that a label names: `http` or `https`, at most 500 characters. */
export function iconIn(labels: Labels, imageLabels: Labels | undefined): string | undefined {
  return firstPage(iconLabels.flatMap((name) => [[labels, name] as const, [imageLabels, name] as const]));
}

function homeOf({ labels, annotations, image }: SourceFacts): string | undefined {
  return firstPage([
    [ownLabels(labels, image), homeLabel],
    [annotations, homeLabel],
  ]);
}

function firstPage(places: readonly (readonly [Labels | undefined, string])[]): string | undefined {
  for (const [labels, name] of places) {
    const page = webAddress(labelOf(labels, name) ?? '');
    if (page !== undefined) return page;
  }
  return undefined;
}

/**
 * The labels without those of the base image. A source with the owner or the name of the image's repository is its own,
 * also beside an inherited version: GitHub asks for that one label.
 */
function ownLabels(labels: Labels | undefined, image: string): Labels | undefined {
  const reference = tryParseImageReference(image);
  if (labels === undefined || !areInherited(labels, reference)) return labels;
  const names = new Set(reference?.repository.toLowerCase().split('/'));
  const own = Object.entries(labels).filter(([name, value]) => {
    const address = sourceAnnotations.includes(name) ? webAddress(value) : undefined;
    return address !== undefined && pathOf(address).some((part) => names.has(part.toLowerCase()));
  });
  return Object.fromEntries(own);
}

function webAddress(text: string): string | undefined {
  if (text.length > maxPage || !URL.canParse(text)) return undefined;
  const { protocol, username, password, href } = new URL(text);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return isWeb && username === '' && password === '' && href.length <= maxPage ? href : undefined;
}

const maxPage = 500;

/** Longer ones are not put into messages. */
const maxLink = 300;

function printableLink(address: string | undefined): string | undefined {
  if (address === undefined || address.length > maxLink) return undefined;
  return address.replaceAll(/[()<>]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The page of the releases of a repository on a known host. */
function releasesAt(source: string): string | undefined {
  const { host, origin } = new URL(source);
  const find = hosts.get(host);
  const parts = find === undefined ? undefined : repositoryIn(pathOf(source), host === 'gitlab.com');
  if (find === undefined || parts === undefined) return undefined;
  const path = parts.join('/');
  const key = `${host}/${path}`.toLowerCase();
  const project = packagedIn.get(key) ?? (key.startsWith('github.com/docker-library/') ? undefined : path);
  return project === undefined ? undefined : `${origin}/${project}${find}`;
}

/** Where hosts have the releases of a repository. */
const hosts: ReadonlyMap<string, string> = new Map([
  ['github.com', '/releases'],
  ['codeberg.org', '/releases'],
  ['gitlab.com', '/-/releases'],
]);

/** `OWNER/REPOSITORY`; on GitLab a repository may be in subgroups, and its pages are behind `/-/`. */
function repositoryIn(path: readonly string[], hasGroups: boolean): readonly string[] | undefined {
  const end = path.findIndex((part, at) => part === '-' || (at > 1 && (part === 'tree' || part === 'blob')));
  const parts = path.slice(0, hasGroups ? (end < 0 ? undefined : end) : 2);
  const last = parts.at(-1)?.replace(/\.git$/, '');
  return parts.length < 2 || !last ? undefined : [...parts.slice(0, -1), last];
}

function pathOf(address: string): readonly string[] {
  return new URL(address).pathname.split('/').filter((part) => part !== '');
}

/**
 * Repositories that only package a program, without releases or with releases of their own, and the repository with the
 * program's releases. All of docker-library has none.
 */
const packagedIn: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'linuxserver/docker-sonarr': 'Sonarr/Sonarr',
    'linuxserver/docker-radarr': 'Radarr/Radarr',
    'linuxserver/docker-prowlarr': 'Prowlarr/Prowlarr',
    'linuxserver/docker-lidarr': 'Lidarr/Lidarr',
    'linuxserver/docker-bazarr': 'morpheus65535/bazarr',
    'linuxserver/docker-jellyfin': 'jellyfin/jellyfin',
    'jellyfin/jellyfin-packaging': 'jellyfin/jellyfin',
    'node-red/node-red-docker': 'node-red/node-red',
    'caddyserver/caddy-docker': 'caddyserver/caddy',
    'traefik/traefik-library-image': 'traefik/traefik',
    'nextcloud/docker': 'nextcloud/server',
    'wallabag/docker': 'wallabag/wallabag',
    'docker-library/redis': 'redis/redis',
    'docker-library/rabbitmq': 'rabbitmq/rabbitmq-server',
    'docker-library/ghost': 'TryGhost/Ghost',
  }).map(([packaging, project]) => [`github.com/${packaging}`, project]),
);
