import { labelOf, areInherited, type Labels } from './labels.ts';
import { tryParseImageReference } from './image-reference.ts';

/** The kinds of hosts that have release notes. */
export type ForgeKind = 'github' | 'gitlab' | 'gitea';

/** `path` is `OWNER/REPOSITORY`; on GitLab there may be more groups. */
export type Repository = { readonly forge: ForgeKind; readonly host: string; readonly path: string };

/** The place that named the source, in words for people. */
export const sourcePlaces = ['container label', 'built-in list', 'image label', 'annotation', 'image name'] as const;

export type SourcePlace = (typeof sourcePlaces)[number];

/** `tagForm`: the tag of a release with `{version}`. `none`: no forge has notes; `page` may have them for people. */
export type NotesSource =
  | {
      readonly kind: 'repository';
      readonly repository: Repository;
      readonly from: SourcePlace;
      readonly tagForm?: string;
    }
  | { readonly kind: 'none'; readonly from: SourcePlace; readonly page?: string }
  | { readonly kind: 'unknown' };

/** Hosts whose kind everyone knows; the owner may add others. */
export const commonForges: ReadonlyMap<string, ForgeKind> = new Map([
  ['github.com', 'github'],
  ['gitlab.com', 'gitlab'],
  ['codeberg.org', 'gitea'],
]);

/**
 * The repository with the release notes of an image. The container's own label comes first, then what is known of the
 * image's name, then what its author wrote, and a guess last. Only known hosts count, so a label names no address.
 */
export function notesSourceOf(
  { labels, annotations, image }: SourceFacts,
  own: { readonly source?: string | undefined; readonly tagForm?: string | undefined } = {},
  forges: ReadonlyMap<string, ForgeKind> = commonForges,
): NotesSource {
  const form = own.tagForm === undefined ? {} : { tagForm: own.tagForm };
  if (own.source === 'none') return { kind: 'none', from: 'container label' };
  if (own.source !== undefined) {
    const repository = repositoryAt(own.source, forges);
    return repository === undefined
      ? { kind: 'unknown' }
      : { kind: 'repository', repository, from: 'container label', ...form };
  }
  const listed = listedSource(image);
  if (listed !== undefined) return listed.kind === 'repository' ? { ...listed, ...form } : listed;
  const labelled = ownLabels(labels, image);
  const named = [
    ['image label', labelOf(labelled, sourceLabel)],
    ['annotation', labelOf(annotations, sourceLabel)],
    ['image label', labelOf(labelled, formerSourceLabel)],
    ['image label', labelOf(labelled, homeLabel)],
    ['annotation', labelOf(annotations, homeLabel)],
  ] as const;
  for (const [from, text = ''] of named) {
    const found = repositoryAt(text, forges);
    const project = found && projectOf(found);
    if (project !== undefined) return { kind: 'repository', repository: project, from, ...form };
  }
  const [owner, name] = /^ghcr\.io\/([^/]+)\/([^/:@]+)/.exec(image)?.slice(1) ?? [];
  const guess = owner && name ? repositoryAt(`https://github.com/${owner}/${name}`, forges) : undefined;
  return guess === undefined
    ? { kind: 'unknown' }
    : { kind: 'repository', repository: guess, from: 'image name', ...form };
}

/**
 * Reads `https://HOST/OWNER/REPOSITORY`, `git@HOST:OWNER/REPOSITORY` and similar forms, with or without `.git`, a branch
 * or a folder. Undefined unless the host is a known one, written exactly so.
 */
export function repositoryAt(text: string, forges: ReadonlyMap<string, ForgeKind>): Repository | undefined {
  if (text.length > maxPage) return undefined;
  const [, web, webPath, ssh, sshPath] = repositoryGrammar.exec(text.trim()) ?? [];
  const host = (web ?? ssh ?? '').toLowerCase().replace(/^www\./, '');
  const forge = forges.get(host);
  if (forge === undefined) return undefined;
  const [path = ''] = (webPath ?? sshPath ?? '').split(/[?#]/);
  const parts = repositoryIn(
    path.split('/').filter((part) => part !== ''),
    forge === 'gitlab',
  );
  const isPlain = parts?.every((part) => /^[\w.-]{1,100}$/.test(part) && !/^\.+$/.test(part)) ?? false;
  return parts !== undefined && isPlain && parts.length <= maxGroups
    ? { forge, host, path: parts.join('/') }
    : undefined;
}

const repositoryGrammar = /^(?:(?:git\+)?(?:https?|git|ssh):\/\/(?:git@)?([a-z\d.-]+)\/(\S+)|git@([a-z\d.-]+):(\S+))$/i;

/** GitLab nests up to 20 groups: https://docs.gitlab.com/user/group/subgroups/ */
const maxGroups = 20;

/** The address of a repository in a browser, or of its releases. */
export function addressOf({ host, path, forge }: Repository, part: 'home' | 'releases' = 'home'): string {
  const behind = part === 'home' ? '' : forge === 'gitlab' ? '/-/releases' : '/releases';
  return `https://${host}/${path}${behind}`;
}

/** The project that a repository packages. Undefined: it packages one that has no notes on a forge. */
function projectOf(repository: Repository): Repository | undefined {
  const key = `${repository.host}/${repository.path}`.toLowerCase();
  const project = packagedIn.get(key) ?? (key.startsWith('github.com/docker-library/') ? undefined : repository.path);
  return project === undefined ? undefined : { ...repository, path: project };
}

function listedSource(image: string): NotesSource | undefined {
  const reference = tryParseImageReference(image);
  if (reference === undefined) return undefined;
  const name = reference.repository.replace(/^library\//, '').toLowerCase();
  const isListed = /^(?:docker\.io|(?:ghcr|lscr|quay|docker\.n8n)\.io|codeberg\.org)$/.test(reference.registry);
  const row = isListed ? knownImages.get(name) : undefined;
  if (row === undefined) return undefined;
  const [place = '', tagForm] = row.split(' ');
  if (place.startsWith('https:')) return { kind: 'none', from: 'built-in list', page: place };
  if (place === '-') return { kind: 'none', from: 'built-in list' };
  const [host = '', path] = place.includes(':') ? place.split(':') : ['github.com', place];
  const forge = commonForges.get(host);
  if (forge === undefined || path === undefined) return undefined;
  const repository = { forge, host, path };
  return { kind: 'repository', repository, from: 'built-in list', ...(tagForm !== undefined && { tagForm }) };
}

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
type Links = { readonly releases: string | undefined; readonly page: string | undefined };

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
  const repository = repositoryAt(source, commonForges);
  const project = repository && projectOf(repository);
  return project && addressOf(project, 'releases');
}

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

/**
 * Images whose labels name no project, or one that only packages it: `OWNER/REPOSITORY` on GitHub or `HOST:PATH`, with
 * the form of its tags if they have another; a page for people where no forge has the notes.
 */
const knownImages: ReadonlyMap<string, string> = new Map(
  `adminer vrana/adminer
actualbudget/actual-server actualbudget/actual
alpine https://alpinelinux.org/releases/
authelia/authelia authelia/authelia
busybox -
caddy caddyserver/caddy
consul hashicorp/consul
couchdb apache/couchdb
debian https://www.debian.org/releases/
duplicati/duplicati duplicati/duplicati
eclipse-mosquitto eclipse-mosquitto/mosquitto
elasticsearch elastic/elasticsearch
esphome/esphome esphome/esphome
forgejo/forgejo codeberg.org:forgejo/forgejo
ghost TryGhost/Ghost
gitea/gitea go-gitea/gitea
gitlab/gitlab-ce https://about.gitlab.com/releases/
goauthentik/server goauthentik/authentik version/{version}
grafana/grafana grafana/grafana
haproxy https://www.haproxy.org/
home-assistant/home-assistant home-assistant/core
homeassistant/home-assistant home-assistant/core
httpd https://downloads.apache.org/httpd/
immich-app/immich-machine-learning immich-app/immich
immich-app/immich-server immich-app/immich
influxdb influxdata/influxdb
jc21/nginx-proxy-manager NginxProxyManager/nginx-proxy-manager
jellyfin/jellyfin jellyfin/jellyfin
kibana elastic/kibana
linuxserver/bazarr morpheus65535/bazarr
linuxserver/bookstack BookStackApp/BookStack
linuxserver/calibre-web janeczku/calibre-web
linuxserver/code-server coder/code-server
linuxserver/duplicati duplicati/duplicati
linuxserver/freshrss FreshRSS/FreshRSS
linuxserver/homeassistant home-assistant/core
linuxserver/jellyfin jellyfin/jellyfin
linuxserver/lidarr Lidarr/Lidarr
linuxserver/nextcloud nextcloud/server
linuxserver/nzbget nzbgetcom/nzbget
linuxserver/overseerr sct/overseerr
linuxserver/plex https://forums.plex.tv/t/plex-media-server/30447
linuxserver/prowlarr Prowlarr/Prowlarr
linuxserver/qbittorrent qbittorrent/qBittorrent release-{version}
linuxserver/radarr Radarr/Radarr
linuxserver/sabnzbd sabnzbd/sabnzbd
linuxserver/sonarr Sonarr/Sonarr
linuxserver/swag linuxserver/docker-swag
linuxserver/syncthing syncthing/syncthing
linuxserver/tautulli Tautulli/Tautulli
linuxserver/transmission transmission/transmission
louislam/uptime-kuma louislam/uptime-kuma
mariadb https://mariadb.com/docs/release-notes
matomo matomo-org/matomo
matrixdotorg/synapse element-hq/synapse
memcached memcached/memcached
minio/minio minio/minio
mongo https://www.mongodb.com/docs/manual/release-notes/
mysql https://dev.mysql.com/doc/relnotes/mysql/
n8nio/n8n n8n-io/n8n n8n@{version}
nats nats-io/nats-server
nextcloud nextcloud/server
nginx https://nginx.org/en/CHANGES
node nodejs/node
nodered/node-red node-red/node-red
ollama/ollama ollama/ollama
php https://www.php.net/ChangeLog-8.php
portainer/portainer-ce portainer/portainer
postgres https://www.postgresql.org/docs/release/
python https://docs.python.org/3/whatsnew/
rabbitmq rabbitmq/rabbitmq-server
redis redis/redis
registry distribution/distribution
rocket.chat RocketChat/Rocket.Chat
telegraf influxdata/telegraf
traefik traefik/traefik
ubuntu https://wiki.ubuntu.com/Releases
valkey/valkey valkey-io/valkey
vaultwarden/server dani-garcia/vaultwarden
wallabag/wallabag wallabag/wallabag
wordpress https://wordpress.org/documentation/article/wordpress-versions/`
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
);
