import { describe, expect, test } from 'vitest';
import { digestOf, idOf } from '../../../test/support/scene/builders.ts';
import { checkedContainer } from '../../../test/support/scene/fake-application.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { summaryOf } from '../../domain/notes/notes.ts';
import { createLastChecks, compactChecks, readStoredCheck, type StoredCheck } from './last-checks.ts';

const held = checkedContainer('web', {
  id: idOf('web'),
  imageId: digestOf('image web'),
  status: 'held',
  hold: 'approval',
  reason: 'Waits for your approval',
  updateAvailable: true,
  latestDigest: digestOf('next'),
  candidate: 'web:2',
  candidateKind: 'major',
  latestVersion: '2.0',
});
const tracked = { id: idOf('made anew'), name: 'web', image: 'web:1', imageId: digestOf('image web') };

/** The part of a check that the file keeps. */
function kept(): readonly StoredCheck[] {
  const written: string[] = [];
  createLastChecks((changed) => void written.push(...changed.map((one) => JSON.stringify(one)))).noteChecked(
    [held],
    1234,
  );
  return written.flatMap((line) => readStoredCheck(JSON.parse(line)) ?? []);
}

describe('the checks of an earlier process', () => {
  test('are those of this one, and a person may decide about them', () => {
    const before = createLastChecks();
    before.noteChecked([held], 1234);
    const checks = createLastChecks();
    checks.restore(kept());
    expect(checks.of(tracked)).toEqual(before.of(tracked));
    expect(checks.candidateOf('web')).toEqual(before.candidateOf('web'));
    expect(checks.candidateOf('web')?.tag).toBe('2');
  });

  test('count for no other image, and not where a newer check is known', () => {
    const checks = createLastChecks();
    checks.noteChecked([{ ...held, reason: 'Newer' }], 5000);
    checks.restore(kept());
    expect(checks.of(tracked)).toMatchObject({ reason: 'Newer', checkedAtMs: 5000 });
    const other = createLastChecks();
    other.restore(kept());
    expect(other.of({ ...tracked, imageId: digestOf('other') }).checkedAtMs).toBeUndefined();
  });

  test('a result that the file shows late does not take back what this process has found since', () => {
    const written: string[] = [];
    const checks = createLastChecks((changed) => void written.push(...changed.map((one) => JSON.stringify(one))));
    const shown = (count: number) => written.slice(0, count).flatMap((line) => readStoredCheck(JSON.parse(line)) ?? []);
    const notesAt = { kind: 'off' } as const;
    const notes = summaryOf({ state: 'found', releases: [], more: 0 });
    checks.noteChecked([{ ...held, notesAt }], 1234);
    checks.reconsider((one) => ({ ...one, notes, holdBecause: 'breaking' }));
    for (const count of [1, 2]) {
      expect(checks.restore(shown(count))).toBe(false);
      expect(checks.of({ ...tracked, id: held.id })).toMatchObject({ notes, holdBecause: 'breaking' });
    }
    const [, last] = shown(2);
    expect(checks.restore([{ ...last!, check: { ...last!.check, hold: 'skipped' } }])).toBe(true);
    expect(checks.of({ ...tracked, id: held.id })).toMatchObject({ hold: 'skipped' });
  });

  test('the last record of a container counts, also where another process has written it since', () => {
    const [first] = kept();
    const later: StoredCheck = { ...first!, check: { ...first!.check, hold: 'skipped', checkedAtMs: 2000 } };
    const checks = createLastChecks();
    expect(checks.restore([first!, later])).toBe(true);
    expect(checks.of(tracked)).toMatchObject({ hold: 'skipped' });
    expect(checks.restore([first!, later])).toBe(false);
    expect(checks.restore([first!, later, { ...later, check: { ...later.check, hold: 'snoozed' } }])).toBe(true);
    expect(checks.of(tracked)).toMatchObject({ hold: 'snoozed' });
  });

  test('what this process writes is not read back as news', () => {
    const written: StoredCheck[] = [];
    const checks = createLastChecks((changed) => void written.push(...changed));
    const [container] = [{ ...held, unrestrained }];
    checks.noteChecked([container], 1234);
    checks.reconsider(skipped);
    const read = written.flatMap((one) => readStoredCheck(JSON.parse(JSON.stringify(one))) ?? []);
    expect(checks.restore(read)).toBe(false);
  });

  test('a decision is kept, and applies after a restart as before it', () => {
    const written: StoredCheck[] = [];
    const before = createLastChecks((changed) => void written.push(...changed));
    before.noteChecked([{ ...held, unrestrained }], 1234);
    expect(before.reconsider(skipped)).toBe(true);
    expect(before.reconsider(skipped)).toBe(false);
    const checks = createLastChecks();
    checks.restore(written.flatMap((one) => readStoredCheck(JSON.parse(JSON.stringify(one))) ?? []));
    expect(checks.of(tracked)).toEqual(before.of(tracked));
    expect(checks.of(tracked)).toMatchObject({ hold: 'skipped', reason: 'Skipped' });
    checks.reconsider(released);
    expect(checks.of(tracked)).toMatchObject({ staleness: 'stale', reason: 'Newer', candidate: 'web:2' });
    expect(checks.of(tracked).hold).toBeUndefined();
  });

  test('a window that containers wait for is known after a restart', () => {
    const written: StoredCheck[] = [];
    const waiting = { ...held, hold: 'window', eligibleAtMs: 9000, unrestrained } as const;
    createLastChecks((changed) => void written.push(...changed)).noteChecked([waiting], 1234);
    const checks = createLastChecks();
    checks.restore(written.flatMap((one) => readStoredCheck(JSON.parse(JSON.stringify(one))) ?? []));
    expect(checks.opensAfter(5000)).toEqual({ atMs: 9000, names: ['web'] });
  });

  test('an update is kept too', () => {
    const written: StoredCheck[] = [];
    const checks = createLastChecks((changed) => void written.push(...changed));
    checks.noteChecked([held], 1234);
    const newImageId = digestOf('next image');
    const outcome = { ...updatedOutcome, newImageId, newDigest: digestOf('next') };
    checks.onEvent({ kind: 'update_completed', runId: 'r', outcome, atMs: 2000 });
    expect(compactChecks(written)).toMatchObject([{ key: 'web', imageId: newImageId, check: { staleness: 'fresh' } }]);
  });

  test.each([
    undefined,
    'text',
    {},
    { key: 'web', image: 'web:1', imageId: 'x', check: {} },
    { key: 'web', image: 'web:1', imageId: 'x', check: { staleness: 'new', stale: false } },
    { key: 'x'.repeat(6000), image: 'web:1', imageId: 'x', check: kept()[0]?.check },
  ])('a record that is none is left out: %j', (value) => {
    expect(readStoredCheck(value)).toBeUndefined();
  });

  test('a part that is not of its kind is left out', () => {
    const [one] = kept();
    const strange = { ...one, check: { ...one?.check, hold: 'whatever', releasedAtMs: 'soon', sourceUrl: 5, more: 1 } };
    const { hold: _, ...check } = one?.check ?? {};
    expect(readStoredCheck(strange)?.check).toEqual(check);
  });
});

const unrestrained = {
  approval: { from: 'major', breaking: false, unread: false },
  window: undefined,
  status: 'stale',
  reason: 'Newer',
  eligibleAtMs: undefined,
} as const;

const skipped = (one: CheckedContainer): CheckedContainer => ({ ...one, hold: 'skipped', reason: 'Skipped' });

function released(one: CheckedContainer): CheckedContainer {
  const { hold: _, unrestrained: known, ...rest } = one;
  return { ...rest, ...known, updateAvailable: true };
}

const updatedOutcome = {
  name: 'web',
  image: 'web:1',
  outcome: 'updated',
  reason: '',
  oldImageId: '',
  oldDigest: '',
} as const;
