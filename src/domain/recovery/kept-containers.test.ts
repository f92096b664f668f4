import { describe, expect, test } from 'vitest';
import { containerSummary, idOf, type SummaryParts } from '../../../test/support/scene/builders.ts';
import { writeJournal } from '../transaction/journal.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import { keptAmong, whyRemovable, withoutKept } from './leftovers.ts';
import { keptName } from '../transaction/transaction-names.ts';
import { parkedName } from '../../../test/support/transaction-names.ts';

const policy = { Name: 'no', MaximumRetryCount: 0 };
const untilMs = 10_000;
const old = containerSummary(keptName({ name: 'web', policy, wasRunning: true, untilMs }), {
  id: idOf('old'),
  status: 'exited',
});

/** The successor of the container with that id. */
function web(replaced: string, parts: SummaryParts = {}) {
  const oldId = idOf(replaced);
  const images = { oldImageId: 'sha256:1', oldDigest: '', taggedBefore: 'sha256:1', newImageId: 'sha256:2' };
  const labels = writeJournal({
    transaction: 't',
    name: 'web',
    oldId,
    ...images,
    role: 'successor',
    autoRemoves: false,
    reference: 'web:1',
    policy,
    wasRunning: true,
    desiredEndState: 'running',
    keepMs: 1000,
    owner: '',
    ownerContainer: '',
    members: [{ name: 'web', oldId }],
  });
  return containerSummary('web', { labels, ...parts });
}

const marked = new Set([idOf('old')]);

const why = (others: ReturnType<typeof web>[], nowMs = 0, kept = old) => {
  const all = [...others, kept];
  return keptAmong(all).map((one) => whyRemovable(one, { containers: all, marked, imageLabelsOf: () => ({}), nowMs }));
};

test('whyRemovable() believes no journal that comes from the image', () => {
  const successor = web('another');
  const all = [successor, old];
  const of = (imageLabelsOf: ImageLabelsOf) =>
    keptAmong(all).map((one) => whyRemovable(one, { containers: all, marked, imageLabelsOf, nowMs: 0 }));
  expect(of(() => ({}))).toEqual(['there has been another update since']);
  expect(of(() => successor.labels)).toEqual([undefined]);
});

test('with a key, whyRemovable() believes only journals with its seal', () => {
  const all = [web('another'), old];
  const seal = (isValid: boolean) => ({ verify: () => isValid });
  const why = (isValid: boolean) =>
    keptAmong(all).map((one) =>
      whyRemovable(one, { containers: all, marked, imageLabelsOf: () => ({}), seal: seal(isValid), nowMs: 0 }),
    );
  expect(why(false)).toEqual([undefined]);
  expect(why(true)).toEqual(['there has been another update since']);
});

describe('whyRemovable()', () => {
  test('is nothing while the last update may be taken back', () => expect(why([web('old')])).toEqual([undefined]));
  test('is the time', () => {
    expect(why([web('old')], untilMs - 1)).toEqual([undefined]);
    expect(why([web('old')], untilMs)).toEqual(['its time is over']);
    expect(why([], untilMs)).toEqual(['its time is over']);
  });
  test('is another update, unless that is not finished', () => {
    expect(why([web('other')])).toEqual(['there has been another update since']);
    expect(why([web('other'), containerSummary(parkedName('web', policy, true))])).toEqual([undefined]);
  });
  test('is nothing where a person has made what has the name now', () =>
    expect(why([containerSummary('web')])).toEqual([undefined]));
  test('is nothing for what someone has started', () =>
    expect(why([web('other')], untilMs, { ...old, status: 'running' })).toEqual([undefined]));
});

test('withoutKept() leaves out nothing else', () => {
  const parked = containerSummary(parkedName('web', policy, true));
  expect(withoutKept([old, parked, web('old')])).toEqual([parked, web('old')]);
});

test('whyRemovable() leaves alone a container that has only such a name', () => {
  const world = { containers: [old], marked: new Set<string>(), imageLabelsOf: () => ({}), nowMs: untilMs * 2 };
  expect(keptAmong([old]).map((one) => whyRemovable(one, world))).toEqual([undefined]);
  const containers = [old, web('old')];
  expect(keptAmong(containers).map((one) => whyRemovable(one, { ...world, containers }))).toEqual(['its time is over']);
});
