import { expect, test } from 'vitest';
import { writeJournal } from '../transaction/journal.ts';
import { type Successor, supersededImages } from './leftovers.ts';

const id = (digit: string) => digit.repeat(64);
const old = `sha256:${id('a')}`;
const next = `sha256:${id('b')}`;
const images = [
  { id: old, tags: [], digests: [`registry.test/team/app@sha256:${id('1')}`] },
  { id: next, tags: ['registry.test/team/app:1'], digests: [`registry.test/team/app@sha256:${id('2')}`] },
];
const journal = {
  transaction: 't',
  name: 'web',
  oldId: id('c'),
  oldImageId: old,
  oldDigest: `sha256:${id('1')}`,
  taggedBefore: old,
  newImageId: next,
  role: 'successor',
  autoRemoves: false,
  reference: 'registry.test/team/app:1',
  policy: { Name: 'no', MaximumRetryCount: 0 },
  wasRunning: true,
  desiredEndState: 'running',
  keepMs: 0,
  owner: '',
  ownerContainer: '',
  members: [{ name: 'web', oldId: id('c') }],
} as const;
const successor: Successor = {
  id: id('d'),
  name: 'web',
  imageId: next,
  labels: writeJournal(journal),
  reference: 'registry.test/team/app:1',
};
const containers = [{ id: id('d'), name: 'web' }];

test('supersededImages() are those that a successor names, where the engine bears it out', () => {
  expect(supersededImages([successor], containers, images)).toEqual([
    { imageId: old, imageName: 'registry.test/team/app:1', containerId: id('d'), containerName: 'web' },
  ]);
});

type Case = readonly [string, Partial<Successor>, readonly { readonly id: string; readonly name: string }[]];

test.each<Case>([
  ['has no journal', { labels: {} }, []],
  ['has the journal of another name', { name: 'other' }, []],
  ['runs another image than its journal says, as one of a committed container', { imageId: `sha256:${id('e')}` }, []],
  ['is of another repository than the image', { reference: 'registry.test/team/else:1' }, []],
  ['was created from no reference', { reference: '???' }, []],
  ['only stands in', { labels: writeJournal({ ...journal, role: 'replica' }) }, []],
  ['names its own image', { labels: writeJournal({ ...journal, oldImageId: next }) }, []],
  ['names an image that is not there', { labels: writeJournal({ ...journal, oldImageId: `sha256:${id('f')}` }) }, []],
  ['is not the last of its update: the old one is there', {}, [{ id: id('c'), name: 'web-kept' }]],
  ['is not the last of its update: a name of it is taken', {}, [{ id: id('9'), name: 'web.upkeep-bad' }]],
])('supersededImages() has none of a container that %s', (_, change, others) => {
  expect(supersededImages([{ ...successor, ...change }], [...containers, ...others], images)).toEqual([]);
});
