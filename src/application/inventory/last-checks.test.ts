import { describe, expect, test } from 'vitest';
import { digestOf, idOf } from '../../../test/support/scene/builders.ts';
import { checkedContainer, containerOutcome, session } from '../../../test/support/scene/fake-application.ts';
import { createLastChecks } from './last-checks.ts';

const imageId = digestOf('image web');
const web = { ...checkedContainer('web'), id: idOf('web'), image: 'web:1', imageId };

describe('createLastChecks()', () => {
  test.each([
    ['the bare id, because its tag has moved on', imageId],
    ['a tag that the image has got since', 'web:stable'],
    ['nothing', ''],
  ])('knows when a container was checked, also where the list now shows %s', (_, image) => {
    const checks = createLastChecks();
    checks.noteChecked([web], 1234);
    expect(checks.of({ ...web, image }).checkedAtMs).toBe(1234);
  });

  test('knows it of an updated container whose tag has moved on', () => {
    const checks = createLastChecks();
    checks.noteChecked([web], 1234);
    expect(checks.of({ ...web, id: idOf('made anew'), image: imageId }).checkedAtMs).toBe(1234);
  });

  test('does not take it for another image, nor for another reference under the name', () => {
    const checks = createLastChecks();
    checks.noteChecked([web], 1234);
    expect(checks.of({ ...web, imageId: digestOf('other'), digest: digestOf('other') }).checkedAtMs).toBeUndefined();
    expect(checks.of({ ...web, id: idOf('made anew'), image: 'web:2' }).checkedAtMs).toBeUndefined();
  });

  const stale = checkedContainer('web', {
    id: web.id,
    imageId,
    status: 'stale',
    updateAvailable: true,
    latestDigest: digestOf('next'),
    unrestrained: {
      approval: { from: 'never', breaking: false, unread: false },
      window: undefined,
      status: 'stale',
      reason: 'Newer',
      eligibleAtMs: undefined,
    },
  });
  const tracked = { id: web.id, name: 'web', image: 'web:1', imageId };
  const run = { runId: 'r', atMs: 2000 };

  const started = { kind: 'update_started', container: 'web', image: 'web:1', from: '', to: '', ...run } as const;
  const successor = { ...tracked, id: idOf('successor'), imageId: digestOf('next image') };

  test.each([
    ['of the same tag', successor],
    ['of another tag', { ...successor, image: 'web:2' }],
  ])('does not flicker to "not checked" during an update, with a successor %s', (_, during) => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    checks.onEvent(started);
    expect(checks.of(during)).toBe(checks.of(tracked));
    checks.onEvent({ kind: 'update_failed', outcome: containerOutcome('web', { outcome: 'failed' }), ...run });
    expect(checks.of(tracked)).toMatchObject({ staleness: 'stale', checkedAtMs: 1234 });
    expect(checks.of(during).checkedAtMs).toBeUndefined();
  });

  test('does not keep it beyond the end of the run', () => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    checks.onEvent(started);
    checks.onEvent({ kind: 'scan_failed', runId: 'r', purpose: 'update', error: '', atMs: 3000 });
    expect(checks.of(successor).checkedAtMs).toBeUndefined();
  });

  test.each<[string, string]>([
    ['of the same tag', 'web:1'],
    ['of another tag', 'web:2'],
  ])('is not undone by a check that had listed the containers before an update %s', (_, image) => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    checks.onEvent(started);
    const after = { id: idOf('successor'), name: 'web', image, imageId: digestOf('next image') };
    const of = { containerId: web.id, image, newImageId: after.imageId, newDigest: digestOf('next') };
    const outcome = containerOutcome('web', { outcome: 'updated', ...of });
    checks.onEvent({ kind: 'update_completed', outcome, ...run });
    checks.noteChecked([stale, { ...stale, name: 'db', id: idOf('db') }], 2100, 1900);
    expect(checks.of(after)).toMatchObject({ staleness: 'fresh', checkedAtMs: 2000 });
    expect(checks.of({ ...tracked, name: 'db', id: idOf('db') }).checkedAtMs).toBe(2100);
    checks.noteChecked([{ ...stale, ...after }], 2300, 2200);
    expect(checks.of(after)).toMatchObject({ staleness: 'stale', checkedAtMs: 2300 });
  });

  test('is not undone either by a check that had listed them before a rollback, unless the clock has gone back', () => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    const outcome = containerOutcome('web', { outcome: 'rolled_back', containerId: web.id, isTakenBack: true });
    checks.onEvent({ kind: 'update_failed', outcome, ...run });
    checks.noteChecked([stale], 2100, 1900);
    expect(checks.of(tracked)).toMatchObject({ staleness: 'held', hold: 'failed' });
    checks.noteChecked([stale], 600, 500);
    expect(checks.of(tracked)).toMatchObject({ staleness: 'stale' });
  });

  test('knows that a container is up to date which someone has made again from the newest image', () => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    const digest = digestOf('next');
    for (const again of [
      { ...successor, digest },
      { ...successor, imageId: digest },
    ]) {
      expect(checks.of(again)).toMatchObject({ staleness: 'fresh', updateAvailable: false, checkedAtMs: 1234 });
      expect(checks.of(again)).toBe(checks.of(again));
    }
    expect(checks.of({ ...successor, digest: digestOf('third') }).checkedAtMs).toBeUndefined();
    expect(checks.of({ ...successor, image: 'web:2', digest }).checkedAtMs).toBeUndefined();
  });

  test('holds a version back that was taken back, also once decisions are looked at again', () => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    const outcome = containerOutcome('web', { outcome: 'rolled_back', containerId: web.id, isTakenBack: true });
    checks.onEvent({ kind: 'update_failed', outcome, ...run });
    checks.reconsider((one) => ({ ...one, status: 'stale' }));
    expect(checks.of(tracked)).toMatchObject({
      staleness: 'held',
      hold: 'failed',
      stale: false,
      updateAvailable: true,
    });
    expect(checks.candidateOf('web')?.digest, 'a person may still decide about it').toBe(stale.pullDigest);
  });

  test('holds a failed version back in the other containers of the image too, and one that a person left only there', () => {
    const others = ['a', 'b'].map((name) => ({ ...stale, name, id: idOf(name), image: 'web:1' }));
    const held = ['a', 'b'].map((name) => ({ ...tracked, name, id: idOf(name) }));
    const checks = createLastChecks(undefined, { canary: true });
    checks.noteChecked([stale, ...others], 1234);
    const outcome = containerOutcome('web', { outcome: 'rolled_back', containerId: web.id, isTakenBack: true });
    checks.onEvent({ kind: 'update_failed', outcome, ...run });
    for (const one of held)
      expect(checks.of(one)).toMatchObject({
        hold: 'failed-elsewhere',
        reason: 'The new version failed in "web"',
        stale: false,
      });
    const others2 = createLastChecks(undefined, { canary: true });
    others2.noteChecked([{ ...stale, status: 'held', hold: 'went-back' }, ...others], 1234);
    others2.onEvent({
      kind: 'update_failed',
      outcome: { ...outcome, name: 'else', containerId: idOf('else') },
      ...run,
    });
    for (const one of held) expect(others2.of(one)).toMatchObject({ staleness: 'stale' });
  });

  test('leaves a version ready whose update failed for another reason', () => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    const outcome = containerOutcome('web', { outcome: 'failed', containerId: web.id });
    checks.onEvent({ kind: 'update_failed', outcome, ...run });
    expect(checks.of(tracked)).toMatchObject({ staleness: 'stale', stale: true });
  });

  test('holds the version back that a person rolled back, also in a container that has its id again', () => {
    const checks = createLastChecks();
    checks.noteChecked([stale], 1234);
    const [before, after] = [digestOf('next image'), imageId];
    const back = { image: 'web:1', newImageId: after, oldImageId: before, newDigest: '', oldDigest: digestOf('next') };
    const outcome = containerOutcome('web', { outcome: 'went_back', ...back, from: '2', to: '1' });
    checks.onEvent({ kind: 'update_completed', outcome, ...run });
    const containers = [{ ...outcome, isTakenBack: true as const }];
    const ended = session(containers);
    const counts = { scanned: 1, updated: 0, failed: 0, restarted: 0, skipped: 0 };
    checks.onEvent({ kind: 'scan_completed', purpose: 'update', ...counts, session: ended, ...run });
    expect(checks.of(tracked)).toMatchObject({ staleness: 'held', hold: 'went-back', latestVersion: '2' });
  });
});
