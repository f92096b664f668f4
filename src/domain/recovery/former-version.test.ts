import { describe, expect, test } from 'vitest';
import { idOf } from '../../../test/support/scene/builders.ts';
import { tryParseImageReference } from '../image/image-reference.ts';
import { type Journal, sealedText, sealLabel, writeJournal } from '../transaction/journal.ts';
import { hasFormerImage, isNamedIn, movedTogether, readLastUpdate } from './leftovers.ts';

type JournalCarrier = Parameters<typeof readLastUpdate>[0];

const honest: Journal = {
  transaction: 't',
  name: 'web',
  oldId: idOf('old'),
  oldImageId: 'sha256:1',
  oldDigest: `sha256:${'1'.repeat(64)}`,
  taggedBefore: 'sha256:1',
  newImageId: 'sha256:2',
  role: 'successor',
  autoRemoves: false,
  reference: 'ghcr.io/team/web:1',
  policy: { Name: 'no', MaximumRetryCount: 0 },
  wasRunning: true,
  desiredEndState: 'running',
  keepMs: 0,
  owner: '',
  ownerContainer: '',
  members: [{ name: 'web', oldId: idOf('old') }],
};

const seal = {
  sign: (text: string) => `sealed ${text}`,
  verify: (text: string, one: string) => one === `sealed ${text}`,
};

function carrier(claims: Partial<Journal> = {}, more: Partial<JournalCarrier> = {}): JournalCarrier {
  const labels = writeJournal({ ...honest, ...claims });
  return { name: 'web', image: 'ghcr.io/team/web:1', imageId: 'sha256:2', labels, imageLabels: {}, ...more };
}

function sealed(claims: Partial<Journal> = {}, more: Partial<JournalCarrier> = {}): JournalCarrier {
  const made = carrier(claims, more);
  return { ...made, labels: { ...made.labels, [sealLabel]: seal.sign(sealedText({ ...honest, ...claims })) } };
}

describe('readLastUpdate()', () => {
  test.each<[string, JournalCarrier]>([
    ['its own journal', carrier()],
    ['a journal with another tag of its repository', carrier({ formerReference: 'ghcr.io/team/web:0' })],
    ['a reference in another spelling', carrier({ reference: 'nginx:1' }, { image: 'docker.io/library/nginx:1' })],
  ])('believes %s', (_, given) => {
    expect(readLastUpdate(given, undefined)).toMatchObject({ kind: 'update', isSealed: false });
  });

  test.each<[string, JournalCarrier, string]>([
    ['another name', carrier({ name: 'vault', members: [{ name: 'vault', oldId: idOf('old') }] }), 'about "vault"'],
    ['another repository', carrier({ reference: 'ghcr.io/team/vault:1' }), 'about another image'],
    ['another registry', carrier({ reference: 'quay.io/team/web:1' }), 'about another image'],
    ['another tag', carrier({ reference: 'ghcr.io/team/web:2' }), 'about another image'],
    ['another former repository', carrier({ formerReference: 'ghcr.io/team/vault:1' }), 'another repository'],
    ['a former image of another name space', carrier({ formerReference: 'team/web:1' }), 'another repository'],
    ['text instead of a reference', carrier({ reference: 'UPPER CASE' }, { image: 'UPPER CASE' }), 'another image'],
    ['nothing that the list shows', carrier({}, { image: undefined }), 'about another image'],
    ['an id that the list shows', carrier({ reference: 'abcdef' }, { imageId: 'sha256:abcdef' }), 'another image'],
    ['a stand-in', carrier({ role: 'replica' }), 'rolled back already'],
  ])('refuses a journal that names %s', (_, given, reason) => {
    expect(readLastUpdate(given, undefined)).toEqual({ kind: 'refused', reason: expect.stringContaining(reason) });
  });

  test('with a key, believes only what its seal covers', () => {
    expect(readLastUpdate(sealed(), seal)).toMatchObject({ kind: 'update', isSealed: true });
    expect(readLastUpdate(sealed({}, { image: undefined }), seal)).toMatchObject({ kind: 'update', isSealed: true });
    const { labels } = sealed({ oldImageId: 'sha256:3' });
    const stolen = { ...labels, 'upkeep.tx.old-image': 'sha256:1' };
    for (const given of [carrier(), carrier({}, { labels: stolen })])
      expect(readLastUpdate(given, seal)).toEqual({ kind: 'refused', reason: expect.stringContaining('the seal') });
    expect(readLastUpdate(sealed({}, { name: 'copy' }), seal)).toMatchObject({ kind: 'refused' });
    expect(readLastUpdate(sealed({}, { image: 'ghcr.io/team/vault:1' }), seal)).toMatchObject({ kind: 'refused' });
  });

  test('tells a container that kept its image, and one that was never updated', () => {
    expect(readLastUpdate(carrier({ oldImageId: 'sha256:2' }), undefined)).toEqual({ kind: 'kept its image' });
    expect(readLastUpdate(carrier({}, { labels: {} }), undefined)).toEqual({ kind: 'none' });
    const ofImage = carrier();
    expect(readLastUpdate({ ...ofImage, imageLabels: ofImage.labels }, undefined)).toEqual({ kind: 'none' });
    expect(readLastUpdate({ ...ofImage, imageLabels: undefined }, undefined)).toMatchObject({ kind: 'refused' });
  });
});

test('movedTogether() wants both journals to name both containers', () => {
  const members = [
    { name: 'web', oldId: idOf('old') },
    { name: 'app', oldId: idOf('app') },
  ];
  const app = { ...honest, name: 'app', oldId: idOf('app'), members };
  expect(movedTogether({ ...honest, members }, app)).toBe(true);
  expect(movedTogether(honest, app)).toBe(false);
  expect(movedTogether({ ...honest, members }, { ...app, members: members.toReversed() })).toBe(false);
  expect(movedTogether({ ...honest, members }, { ...app, transaction: 'another' })).toBe(false);
  expect(movedTogether({ ...honest, members }, { ...app, owner: 'another' })).toBe(false);
  expect(movedTogether({ ...honest, members }, { ...honest, members })).toBe(false);
});

describe('hasFormerImage()', () => {
  const digests = (repository: string) => ({ tags: [], digests: [`${repository}@sha256:${'1'.repeat(64)}`] });
  const offers = (held: { tags: string[]; digests: string[] } | undefined, given = carrier(), key?: typeof seal) =>
    hasFormerImage({ carrier: given, seal: key, imageOf: () => held });

  test.each<[string, Parameters<typeof offers>, boolean]>([
    ['an image of the own repository', [digests('ghcr.io/team/web')], true],
    ['an image with an own tag', [{ tags: ['x:1', 'ghcr.io/team/web:old'], digests: [] }], true],
    ['an image of another repository', [digests('ghcr.io/team/vault')], false],
    ['an image without a name, whose digest a registry may show', [{ tags: [], digests: [] }], true],
    ['an image without name and digest', [{ tags: [], digests: [] }, carrier({ oldDigest: '' })], false],
    ['the same under a seal', [{ tags: [], digests: [] }, sealed({ oldDigest: '' }), seal], true],
    ['an image that a registry may have', [undefined], true],
    ['an image that nobody has', [undefined, carrier({ oldDigest: '' })], false],
    ['a journal without a seal', [digests('ghcr.io/team/web'), carrier(), seal], false],
  ])('with %s', (_, given, offered) => {
    expect(offers(...given)).toBe(offered);
  });
});

test('isNamedIn() reads the names as an engine writes them', () => {
  const web = tryParseImageReference('web:1');
  const names = (...tags: string[]) => ({ tags, digests: [] });
  expect(web && isNamedIn(names('docker.io/library/web:old'), web)).toBe(true);
  expect(web && isNamedIn(names('<none>:<none>', 'localhost/web:1'), web)).toBe(false);
});
