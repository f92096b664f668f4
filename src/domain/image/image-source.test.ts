import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linksOf, releasePageOf, sourceOf } from './image-source.ts';

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
