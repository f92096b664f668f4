import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJournalLabel, type Journal, readJournal, sealLabel, writeJournal } from './journal.ts';
import { journalPrefix } from '../image/labels.ts';

const id = (digit: string) => digit.repeat(64);

const journal: Journal = {
  transaction: '6f1c',
  name: 'web',
  oldId: id('a'),
  oldImageId: `sha256:${id('1')}`,
  oldDigest: '',
  newImageId: `sha256:${id('2')}`,
  taggedBefore: `sha256:${id('3')}`,
  role: 'replica',
  autoRemoves: true,
  reference: 'nginx:1.27',
  policy: { Name: 'on-failure', MaximumRetryCount: 3 },
  wasRunning: true,
  desiredEndState: 'completed',
  keepMs: 86_400_000,
  owner: 'process:m:b:1:2:3',
  ownerContainer: id('c'),
  members: [
    { name: 'vpn', oldId: id('b') },
    { name: 'web', oldId: id('a') },
  ],
};

const journaledData = {
  leader: 'vpn',
  items: [{ paths: ['/data'], mount: { Type: 'volume', Source: 'kept' }, title: 'volume "kept"', source: '/v/kept' }],
  imageId: `sha256:${id('4')}`,
  keepMs: 0,
};

test('a journal with data has another version, so that an older Upkeep leaves it alone', () => {
  const label = `${journalPrefix}v`;
  expect(writeJournal(journal)[label]).toBe('1');
  const labels = writeJournal({ ...journal, data: journaledData });
  expect(labels[label]).toBe('2');
  expect(readJournal({ ...labels, [`${journalPrefix}data`]: '{}' }).kind).toBe('foreign');
});

test('isJournalLabel() knows every label of a journal, and the seal', () => {
  const labels = [...Object.keys(writeJournal(journal)), sealLabel];
  expect(labels.filter((label) => !isJournalLabel(label))).toEqual([]);
  expect([`${journalPrefix}helper`, 'name', 'upkeep.name'].filter(isJournalLabel)).toEqual([]);
});

test.each<[string, Partial<Journal>]>([
  ['old-ref', { formerReference: 'nginx:1.26' }],
  ['unhealthy', { wasUnhealthy: true }],
  ['unmarked', { hasNoMark: true }],
  ['files', { files: ['/etc/c1.conf', '/run/secrets/sö'] }],
  ['file-ref', { composeReference: 'nginx:1.25' }],
  ['data', { data: journaledData }],
])('a journal without "%s" is written as in earlier versions, so that seals stay what they are', (label, more) => {
  expect(Object.keys(writeJournal(journal))).not.toContain(`${journalPrefix}${label}`);
  const full = { ...journal, ...more };
  expect(Object.keys(writeJournal(full)).every(isJournalLabel)).toBe(true);
  expect(readJournal(writeJournal(full))).toEqual({ kind: 'journal', journal: full });
});

describe('readJournal()', () => {
  test('reads back what writeJournal() wrote, beside labels of the user', () => {
    expect(readJournal({ 'upkeep.enable': 'true', ...writeJournal(journal) })).toEqual({ kind: 'journal', journal });
  });

  test("never mistakes a user's labels for a journal", () => {
    expect(readJournal({ 'upkeep.enable': 'true', 'upkeep.scope': 'x' })).toEqual({ kind: 'none' });
  });

  test('does not touch what a newer version wrote', () => {
    for (const version of ['2', '3'])
      expect(readJournal({ ...writeJournal(journal), [`${journalPrefix}v`]: version }).kind).toBe('foreign');
  });

  test.each(['name', 'old', 'policy', 'members', 'id'])('calls a journal without its "%s" foreign', (name) => {
    const { [`${journalPrefix}${name}`]: _gone, ...rest } = writeJournal(journal);
    expect(readJournal(rest).kind).toBe('foreign');
  });

  test('calls a journal that does not list its own container foreign', () => {
    expect(readJournal({ ...writeJournal(journal), [`${journalPrefix}members`]: `vpn=${id('b')}` }).kind).toBe(
      'foreign',
    );
  });

  test.each([
    ['1', 'running'],
    ['0', 'stopped'],
  ])('takes what an earlier version wrote (run: %s) for a successor that is to be %s', (run, desiredEndState) => {
    const { [`${journalPrefix}then`]: _unknown, ...labels } = writeJournal(journal);
    const reading = readJournal({ ...labels, [`${journalPrefix}run`]: run });
    expect(reading).toMatchObject({ kind: 'journal', journal: { desiredEndState } });
  });

  test('never throws, whatever the labels hold', () => {
    const hostile = fc.dictionary(
      fc.constantFrom(...Object.keys(writeJournal(journal))),
      fc.string({ maxLength: 300 }),
    );
    fc.assert(
      fc.property(hostile, (labels) => {
        expect(['journal', 'none', 'foreign']).toContain(readJournal(labels).kind);
      }),
    );
  });
});
