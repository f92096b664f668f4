import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeBetween, versionOf, versionsBetween } from './labels.ts';

const digest = `sha256:${'0123456789ab'.padEnd(64, 'c')}`;
const labelled = (version: string) => ({ 'org.opencontainers.image.version': version });

describe('versionOf()', () => {
  test.each([
    ['its label, more exact than the tag', { labels: labelled('1.2.3'), image: 'app:1.2', digest }, '1.2.3'],
    ['its label for a tag that moves', { labels: labelled('1.2.3'), image: 'app:latest', digest }, '1.2.3'],
    ['a tag that looks like a version', { labels: {}, image: 'app:16-alpine', digest }, '16-alpine'],
    ['a tag with a v', { labels: undefined, image: 'ghcr.io/team/app:v2', digest }, 'v2'],
    ['a tag with a word before the version', { labels: {}, image: 'app:version-4.0.17', digest }, 'version-4.0.17'],
    ['the digest for another tag', { labels: {}, image: 'app:latest', digest }, '0123456789ab'],
    ['the digest for a blank label', { labels: labelled('  '), image: 'app', digest }, '0123456789ab'],
    ['nothing where nothing is known', { labels: {}, image: 'not a reference', digest: '' }, undefined],
    ['a hostile label so that it can be shown', { labels: labelled('1\u001b[2J'), image: 'app', digest }, '1\\x1b[2J'],
  ])('is %s', (_, facts, expected) => {
    expect(versionOf(facts)).toBe(expected);
  });

  test('is at most 100 characters', () => {
    expect(versionOf({ labels: labelled('9'.repeat(500)), image: 'app', digest })).toHaveLength(100);
  });

  const from = (name: string, version: string) => ({ ...labelled(version), 'org.opencontainers.image.ref.name': name });

  test.each([
    ['mongo:7.0.5', from('ubuntu', '22.04'), '7.0.5'],
    ['solr:latest', from('ubuntu', '22.04'), '0123456789ab'],
    ['acme/shop:bookworm', from('docker.io/library/debian:12', '12.5'), '0123456789ab'],
    ['acme/shop:3', from('My own shop', '12.5'), '3'],
    ['acme/cache:2.3', labelled('7.4.0'), '2.3'],
    ['acme/cache:7.2', labelled('7.4.0'), '7.2'],
    ['acme/cache:version-2.3', labelled('7.4.0'), 'version-2.3'],
    ['acme/cache:2.3', labelled('main'), '2.3'],
    ['acme/cache:2.3.1-ls4', labelled('2.30.1'), '2.3.1-ls4'],
  ])('of %s, whose labels are of its base image, is the tag or the digest', (image, labels, expected) => {
    expect(versionOf({ labels, image, digest })).toBe(expected);
  });

  const titled = (title: string, version: string) => ({
    ...labelled(version),
    'org.opencontainers.image.title': title,
  });

  test.each([
    ['registry.test/acme/cache:latest', titled('redis', '7.4.0')],
    ['acme/ci:stable', titled('Official Jenkins Docker image', '2.462.1')],
    ['acme/files:latest', titled('Fedora', '41')],
    ['acme/files:latest', { ...labelled('41'), 'org.opencontainers.image.name': 'fedora' }],
  ])('of %s, whose title is of another program, is the digest', (image, labels) => {
    expect(versionOf({ labels, image, digest })).toBe('0123456789ab');
  });

  test.each([
    ['bitnami/redis:latest', titled('redis', '7.4.0'), '7.4.0'],
    ['jenkins/jenkins:lts', titled('Official Jenkins Docker image', '2.462.1'), '2.462.1'],
    ['pihole/pihole:latest', titled('docker-pi-hole', '2024.07.0'), '2024.07.0'],
    ['acme/shop:latest', titled('My shop on nginx', '1.2.0'), '1.2.0'],
    ['bitnami/postgresql:latest', titled('postgresql', '17.0.0'), '17.0.0'],
    ['acme/postgres:latest', titled('postgresql', '17.0.0'), '17.0.0'],
  ])('of %s, whose title is its own, is the label', (image, labels, expected) => {
    expect(versionOf({ labels, image, digest })).toBe(expected);
  });

  test.each([
    ['ubuntu:latest', from('ubuntu', '22.04'), '22.04'],
    ['ubuntu:22.04', from('ubuntu', '22.04'), '22.04'],
    ['acme/redis:stable', from('redis', '7.4.0'), '7.4.0'],
    ['ghcr.io/team/app:latest', from('ghcr.io/team/app:1.2', '1.2.0'), '1.2.0'],
    ['bitnami/redis:7.4', from('7.4.0-debian-12-r0', '7.4.0'), '7.4.0'],
    [
      'linuxserver/sonarr:latest',
      from('3d8c9b1f0a2e4d5c6b7a8f9e0d1c2b3a4f5e6d7c', '4.0.17.2952-ls313'),
      '4.0.17.2952-ls313',
    ],
    ['ghcr.io/team/app:edge', from('refs/heads/main', '1.2.0'), '1.2.0'],
    ['ghcr.io/team/app:nightly', from('nightly', '1.3.0'), '1.3.0'],
    ['postgres:16-alpine', labelled('16.3'), '16.3'],
    ['ghcr.io/team/app:v2', labelled('2.11.0'), '2.11.0'],
    ['ghcr.io/team/app:pg14-v0.2.0', labelled('0.2.0'), '0.2.0'],
    [`redis@sha256:${'e'.repeat(64)}`, from('redis', '7.4.0'), '7.4.0'],
  ])('of %s, whose labels are its own, is the label', (image, labels, expected) => {
    expect(versionOf({ labels, image, digest })).toBe(expected);
  });

  test.each([
    ['shop:dev', labelled('7.4.0'), 'dev'],
    ['shop', from('redis', '7.4.0'), 'latest'],
    ['shop:2.1', labelled('7.4.0'), '2.1'],
    ['shop:1.2', labelled('v1'), '1.2'],
    ['shop:1.2.0-beta', labelled('1.2.0'), '1.2.0-beta'],
    ['shop:2.1', labelled('2.1.3'), '2.1.3'],
    ['shop:2.1', labelled('2.1.5'), '2.1.5'],
  ])('of %s, which was built here, is its tag, or a version that agrees with it', (image, labels, expected) => {
    expect(versionOf({ labels, image, digest, isBuiltHere: true })).toBe(expected);
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (name, version, image) => {
        expect(versionOf({ labels: from(name, version), image, digest })).not.toBe('');
      }),
    );
  });
});

describe('versionsBetween()', () => {
  const other = `sha256:${'f'.repeat(64)}`;
  const built = { labels: {}, image: 'shop:dev', isBuiltHere: true };

  test('names two images of one tag that is no version by their digests', () => {
    expect(versionsBetween({ ...built, digest }, { ...built, digest: other })).toEqual({
      version: '0123456789ab',
      latestVersion: 'ffffffffffff',
    });
  });

  test('shows a version twice if it was built again', () => {
    const image = 'app:1.2';
    expect(versionsBetween({ labels: {}, image, digest }, { labels: {}, image, digest: other })).toEqual({
      version: '1.2',
      latestVersion: '1.2',
      change: 'build',
    });
  });

  test('takes the step between tags where both images have the label of their base image', () => {
    const labels = from('ubuntu', '22.04');
    expect(
      versionsBetween({ labels, image: 'mongo:7.0.5', digest }, { labels, image: 'mongo:7.0.9', digest: other }),
    ).toEqual({ version: '7.0.5', latestVersion: '7.0.9', change: 'patch' });
  });

  function from(name: string, version: string) {
    return { ...labelled(version), 'org.opencontainers.image.ref.name': name };
  }
});

describe('changeBetween()', () => {
  test.each([
    ['1.27.4', '2.0.0', 'major'],
    ['v1.27.4', '1.28', 'minor'],
    ['1.27.4', '1.27.5', 'patch'],
    ['1.27', '1.27.0-r1', 'build'],
    ['16-alpine', '16-alpine', 'build'],
    ['rolling', 'rolling', 'build'],
    ['rolling', 'stable', undefined],
    ['1.27', '0123456789ab', undefined],
    ['012345678901', '112345678901', undefined],
  ])('%s → %s is %s', (from, to, change) => {
    expect(changeBetween(from, to)).toBe(change);
  });

  test('takes no time that grows with the square of a text', () => {
    const long = `1${'.1'.repeat(500_000)}!`;
    expect(changeBetween(long, long)).toBe('build');
  });

  test('is the same in both directions, and never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(changeBetween(one, other)).toBe(changeBetween(other, one));
      }),
    );
  });
});
