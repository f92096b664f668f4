import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Labels } from './labels.ts';
import {
  addressOf,
  linksOf,
  notesSourceOf,
  releasePageOf,
  repositoryAt,
  commonForges,
  sourceOf,
} from './image-source.ts';

const source = (url: string) => ({ 'org.opencontainers.image.source': url });
const home = (url: string) => ({ 'org.opencontainers.image.url': url });
const image = 'acme/web:1';

describe('sourceOf()', () => {
  test.each([
    ['the sources', source('https://git.example/app'), 'https://git.example/app'],
    ['the home page where no sources are named', home('http://app.example'), 'http://app.example/'],
    [
      'the home page where the sources are no address',
      { ...source('app'), ...home('https://a.example/') },
      'https://a.example/',
    ],
    [
      'the older label of the sources',
      { ...home('https://a.example/'), 'org.label-schema.vcs-url': 'https://git.example/old' },
      'https://git.example/old',
    ],
    ['no script', source('javascript:alert(1)'), undefined],
    ['no login', source('https://user:password@git.example/'), undefined],
    ['nothing too long', source(`https://git.example/${'a'.repeat(500)}`), undefined],
    ['nothing of no labels', undefined, undefined],
  ])('is %s', (_, labels, expected) => {
    expect(sourceOf({ labels, image })).toBe(expected);
  });

  test('reads annotations after the label of the sources, and before home pages', () => {
    const annotations = source('https://git.example/annotated');
    expect(sourceOf({ labels: undefined, annotations, image })).toBe('https://git.example/annotated');
    expect(sourceOf({ labels: home('https://a.example/'), annotations, image })).toBe('https://git.example/annotated');
    expect(sourceOf({ labels: source('https://git.example/app'), annotations, image })).toBe('https://git.example/app');
  });

  const ofUbuntu = {
    'org.opencontainers.image.ref.name': 'ubuntu',
    'org.opencontainers.image.version': '22.04',
    ...source('https://git.launchpad.net/cloud-images'),
  };
  const ofRedis = { 'org.opencontainers.image.version': '7.4.0', ...source('https://github.com/redis/redis') };

  test.each([
    ['mongo:7.0.5', ofUbuntu],
    ['solr:latest', ofUbuntu],
    ['acme/cache:2.3', ofRedis],
    ['acme/cache:2.3', { ...ofRedis, ...home('https://redis.io/') }],
  ])('of %s is not that of its base image', (name, labels) => {
    expect(sourceOf({ labels, image: name })).toBeUndefined();
    const annotations = source('https://git.example/own');
    expect(sourceOf({ labels, annotations, image: name })).toBe('https://git.example/own');
  });

  test.each([
    ['redis:7.4', ofRedis, 'https://github.com/redis/redis'],
    ['ubuntu:latest', ofUbuntu, 'https://git.launchpad.net/cloud-images'],
    [
      'ghcr.io/acme/shop:2.3',
      { ...ofUbuntu, ...source('https://github.com/acme/shop') },
      'https://github.com/acme/shop',
    ],
    ['acme/web:2.3', { ...ofRedis, ...source('https://github.com/Other/Web') }, 'https://github.com/Other/Web'],
  ])('of %s is its own', (name, labels, expected) => {
    expect(sourceOf({ labels, image: name })).toBe(expected);
  });
});

describe('linksOf()', () => {
  test.each([
    ['https://github.com/acme/web.git', 'https://github.com/acme/web/releases'],
    ['https://github.com/acme/web/tree/main/sub', 'https://github.com/acme/web/releases'],
    ['https://github.com/acme/web#0a1b2c:16/alpine', 'https://github.com/acme/web/releases'],
    ['https://gitlab.com/acme/web', 'https://gitlab.com/acme/web/-/releases'],
    ['https://gitlab.com/acme/team/web', 'https://gitlab.com/acme/team/web/-/releases'],
    ['https://gitlab.com/acme/team/part/web.git', 'https://gitlab.com/acme/team/part/web/-/releases'],
    ['https://gitlab.com/acme/team/web/-/tree/main/sub', 'https://gitlab.com/acme/team/web/-/releases'],
    ['https://gitlab.com/acme/web/tree/main', 'https://gitlab.com/acme/web/-/releases'],
    ['https://codeberg.org/acme/web/src/branch/main', 'https://codeberg.org/acme/web/releases'],
    ['https://github.com/linuxserver/docker-sonarr', 'https://github.com/Sonarr/Sonarr/releases'],
    ['https://github.com/jellyfin/jellyfin-packaging', 'https://github.com/jellyfin/jellyfin/releases'],
    ['https://github.com/node-red/node-red-docker.git', 'https://github.com/node-red/node-red/releases'],
    ['https://github.com/CaddyServer/caddy-docker', 'https://github.com/caddyserver/caddy/releases'],
    ['https://github.com/docker-library/redis.git#0a1b:7/alpine', 'https://github.com/redis/redis/releases'],
    ['https://github.com/docker-library/postgres.git#0a1b:16', undefined],
    ['https://gitlab.com/docker-library/redis', 'https://gitlab.com/docker-library/redis/-/releases'],
    ['https://github.com/acme', undefined],
    ['https://github.com/acme/.git', undefined],
    ['https://gitlab.com/acme/-/web', undefined],
    ['https://github.com:8443/acme/web', undefined],
    ['javascript:alert(1)', undefined],
    ['https://user:secret@github.com/acme/web', undefined],
    ['https://user@github.com/acme/web', undefined],
    ['https://:secret@github.com/acme/web', undefined],
    ['git@github.com:acme/web', undefined],
  ])('of the source %s finds the releases %s', (url, releases) => {
    expect(linksOf({ labels: source(url), image: 'web' }).releases).toBe(releases);
    expect(releasePageOf(url)).toBe(releases ?? linksOf({ labels: source(url), image: 'web' }).page);
  });

  test('falls back to the page that the author names', () => {
    const labels = { ...source('https://git.example/x'), ...home('https://x.example/') };
    expect(linksOf({ labels, image })).toEqual({ releases: undefined, page: 'https://x.example/' });
    expect(linksOf({ labels: undefined, annotations: labels, image }).page).toBe('https://x.example/');
  });

  test('never gives what could end a link or a line', () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string()), fc.string(), (url, tail) => {
        const { page = '' } = linksOf({ labels: home(url + tail), image });
        return !/[\s()<>]/.test(page);
      }),
    );
  });
});

describe('notesSourceOf()', () => {
  const labelled = (...paths: readonly string[]) =>
    paths.map((path) => [path.toLowerCase(), source(`https://github.com/${path}`), `github.com/${path}`] as const);

  const cases: readonly (readonly [string, Labels | undefined, string | undefined])[] = [
    ...labelled(
      'AdguardTeam/AdguardHome',
      'advplyr/audiobookshelf',
      'dgtlmoon/changedetection.io',
      'cloudflare/cloudflared',
    ),
    ...labelled(
      'crowdsecurity/crowdsec',
      'crazy-max/diun',
      'amir20/dozzle',
      'filebrowser/filebrowser',
      'qdm12/gluetun',
    ),
    ...labelled(
      'gotify/server',
      'homarr-labs/homarr',
      'sysadminsmedia/homebox',
      'gethomepage/homepage',
      'karakeep-app/karakeep',
    ),
    ...labelled(
      'sissbruecker/linkding',
      'mealie-recipes/mealie',
      'miniflux/v2',
      'navidrome/navidrome',
      'binwiederhier/ntfy',
    ),
    [
      'pihole/pihole:2026.07.2',
      source('https://github.com/pi-hole/docker-pi-hole'),
      'github.com/pi-hole/docker-pi-hole',
    ],
    ['acme/web:1', source('https://github.com/acme/web.git'), 'github.com/acme/web'],
    ['acme/web:1', source('https://github.com/acme/web/tree/0a1b2c'), 'github.com/acme/web'],
    ['acme/web:1', source('git+https://www.github.com/acme/web#main'), 'github.com/acme/web'],
    ['acme/web:1', source('git@github.com:acme/web.git'), 'github.com/acme/web'],
    ['acme/web:1', source('ssh://git@github.com/acme/web'), 'github.com/acme/web'],
    ['acme/web:1', source('https://gitlab.com/acme/team/web/-/tree/main'), 'gitlab.com/acme/team/web'],
    ['acme/web:1', source('https://codeberg.org/acme/web'), 'codeberg.org/acme/web'],
    ['acme/web:1', { 'org.label-schema.vcs-url': 'https://github.com/acme/old' }, 'github.com/acme/old'],
    ['acme/web:1', home('https://github.com/acme/web'), 'github.com/acme/web'],
    [
      'acme/web:1',
      { ...source('https://git.acme.example/web'), ...home('https://github.com/acme/web') },
      'github.com/acme/web',
    ],
    ['acme/web:1', home('https://web.example/'), undefined],
    ['acme/web:1', source('https://git.acme.example/acme/web'), undefined],
    ['acme/web:1', undefined, undefined],
    ['nextcloud:34', source('https://github.com/docker-library/nextcloud'), 'github.com/nextcloud/server'],
    ['docker.io/library/redis:8', undefined, 'github.com/redis/redis'],
    [
      'lscr.io/linuxserver/sonarr:4',
      source('https://github.com/linuxserver/docker-sonarr'),
      'github.com/Sonarr/Sonarr',
    ],
    ['linuxserver/radarr:5', undefined, 'github.com/Radarr/Radarr'],
    ['ghcr.io/linuxserver/prowlarr:1', undefined, 'github.com/Prowlarr/Prowlarr'],
    ['linuxserver/qbittorrent:5', undefined, 'github.com/qbittorrent/qBittorrent'],
    ['acme/sonarr:4', source('https://github.com/linuxserver/docker-sonarr'), 'github.com/Sonarr/Sonarr'],
    ['jellyfin/jellyfin:10', source('https://github.com/jellyfin/jellyfin-packaging'), 'github.com/jellyfin/jellyfin'],
    ['nodered/node-red:4', source('https://github.com/node-red/node-red-docker'), 'github.com/node-red/node-red'],
    ['caddy:2', source('https://github.com/caddyserver/caddy-docker'), 'github.com/caddyserver/caddy'],
    ['wallabag/wallabag:2', undefined, 'github.com/wallabag/wallabag'],
    [
      'jc21/nginx-proxy-manager:2',
      { 'org.label-schema.vcs-url': 'https://github.com/jc21/nginx-proxy-manager' },
      'github.com/NginxProxyManager/nginx-proxy-manager',
    ],
    ['duplicati/duplicati:2.3.1.0', undefined, 'github.com/duplicati/duplicati'],
    ['ghcr.io/esphome/esphome:2026.8', undefined, 'github.com/esphome/esphome'],
    ['ghcr.io/blakeblackshear/frigate:0.18', undefined, 'github.com/blakeblackshear/frigate'],
    ['minio/minio:RELEASE.2025-10-15T17-29-55Z', undefined, 'github.com/minio/minio'],
    ['ollama/ollama:0.9', undefined, 'github.com/ollama/ollama'],
    ['portainer/portainer-ce:2.30', undefined, 'github.com/portainer/portainer'],
    ['louislam/uptime-kuma:2', undefined, 'github.com/louislam/uptime-kuma'],
    ['actualbudget/actual-server:26', undefined, 'github.com/actualbudget/actual'],
    ['ghcr.io/immich-app/immich-server:v3', undefined, 'github.com/immich-app/immich'],
    [
      'ghcr.io/goauthentik/server:2026.8',
      source('https://github.com/goauthentik/server'),
      'github.com/goauthentik/authentik',
    ],
    ['gitea/gitea:1.24', undefined, 'github.com/go-gitea/gitea'],
    ['codeberg.org/forgejo/forgejo:12', undefined, 'codeberg.org/forgejo/forgejo'],
    ['n8nio/n8n:1.50.0', undefined, 'github.com/n8n-io/n8n'],
    ['postgres:17', source('https://github.com/docker-library/postgres.git#0a1b:17'), undefined],
    ['nginx:1.27', source('https://github.com/nginx/docker-nginx'), undefined],
    ['registry.acme.example/redis:8', undefined, undefined],
    ['ghcr.io/acme/web/server:1', undefined, 'github.com/acme/web'],
  ];

  test.each(cases)('of %s with %j is %s', (name, labels, expected) => {
    const found = notesSourceOf({ labels, image: name });
    expect(found.kind === 'repository' ? `${found.repository.host}/${found.repository.path}` : undefined).toBe(
      expected,
    );
  });

  test('prefers the label of the container, then the list, the label, annotations and the name', () => {
    const annotations = source('https://github.com/acme/annotated');
    const labels = source('https://gitlab.com/acme/labelled');
    const of = (name: string, own = {}, given: Parameters<typeof notesSourceOf>[0]['labels'] = labels) =>
      notesSourceOf({ labels: given, annotations, image: name }, own);
    expect(of('redis:8', { source: 'https://codeberg.org/me/mine', tagForm: 'r-{version}' })).toEqual({
      kind: 'repository',
      repository: { forge: 'gitea', host: 'codeberg.org', path: 'me/mine' },
      from: 'container label',
      tagForm: 'r-{version}',
    });
    expect(of('redis:8', { source: 'none' })).toEqual({ kind: 'none', from: 'container label' });
    expect(of('redis:8', { source: 'https://git.acme.example/a/b' })).toEqual({ kind: 'unknown' });
    expect(of('redis:8')).toMatchObject({ from: 'built-in list' });
    expect(of('n8nio/n8n:1')).toMatchObject({ from: 'built-in list', tagForm: 'n8n@{version}' });
    expect(of('postgres:17')).toEqual({
      kind: 'none',
      from: 'built-in list',
      page: 'https://www.postgresql.org/docs/release/',
    });
    expect(of('acme/web:1')).toMatchObject({ from: 'image label' });
    expect(of('acme/web:1', {}, {})).toMatchObject({ from: 'annotation' });
    expect(notesSourceOf({ labels: {}, image: 'ghcr.io/acme/web:1' })).toMatchObject({ from: 'image name' });
  });

  test('knows the hosts of the owner', () => {
    const forges = new Map([...commonForges, ['git.acme.example', 'gitea'] as const]);
    const found = notesSourceOf({ labels: source('https://git.acme.example/acme/web'), image }, {}, forges);
    expect(found).toMatchObject({ repository: { forge: 'gitea', host: 'git.acme.example', path: 'acme/web' } });
  });
});

describe('repositoryAt()', () => {
  test.each([
    'https://127.0.0.1/acme/web',
    'https://169.254.169.254/latest/meta-data',
    'https://evil.github.com/acme/web',
    'https://github.com.evil.example/acme/web',
    'https://github.com@evil.example/acme/web',
    'https://user:secret@github.com/acme/web',
    'https://github.com:8443/acme/web',
    'https://g\u0456thub.com/acme/web',
    'https://github.com\u3002evil.example/acme/web',
    'https://github.com/acme',
    'https://github.com/../web',
    'https://github.com/acme/..',
    'https://github.com/acme%2Fweb/x',
    'https://github.com/acme/w b',
    'https://github.com/acme/web\nHost: evil.example',
    `https://github.com/${'a'.repeat(101)}/web`,
    `https://gitlab.com/${'a/'.repeat(25)}web`,
    'file:///etc/passwd',
    'github.com/acme/web',
    'javascript:https://github.com/acme/web',
  ])('reads no repository from %j', (text) => {
    expect(repositoryAt(text, commonForges)).toBeUndefined();
  });

  test('is the address that a person can open', () => {
    const at = (text: string) => repositoryAt(text, commonForges) ?? expect.unreachable();
    expect(addressOf(at('https://gitlab.com/a/b/c.git'), 'releases')).toBe('https://gitlab.com/a/b/c/-/releases');
    expect(addressOf(at('http://WWW.GitHub.com/a/b?tab=x'))).toBe('https://github.com/a/b');
  });
});
