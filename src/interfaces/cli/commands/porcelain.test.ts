import { expect, test } from 'vitest';
import { containerOutcome, session } from '../../../../test/support/scene/fake-application.ts';
import { digestOf } from '../../../../test/support/scene/builders.ts';
import { porcelainTexts } from './run.ts';

const outcomes = session([
  containerOutcome('updated', { outcome: 'updated', image: 'mock/app', newImageId: digestOf('new') }),
  containerOutcome('failed', { outcome: 'failed', reason: 'pull access denied', newImageId: '' }),
  containerOutcome('back', { outcome: 'rolled_back', reason: 'it was\nunhealthy', newImageId: digestOf('new') }),
  containerOutcome('fresh', { reason: 'Runs the newest image of its tag' }),
  containerOutcome('held', { outcome: 'skipped', reason: 'is monitored only', newDigest: digestOf('newer') }),
  containerOutcome('later', { outcome: 'deferred', reason: 'it is paused' }),
  containerOutcome('lost', { outcome: 'unknown', reason: 'No answer', image: 'not A reference' }),
  containerOutcome('linked', { outcome: 'restarted' }),
]);

test('v1 is a line for each container, in the words of the Watchtower family', () => {
  expect(porcelainTexts.v1(outcomes)).toBe(
    [
      'updated (mock/app:latest): Updated',
      'failed (failed:1): Failed Error: pull access denied',
      String.raw`back (back:1): Failed Error: it was\nunhealthy`,
      'fresh (fresh:1): Fresh',
      'held (held:1): Skipped Error: is monitored only',
      'later (later:1): Skipped Error: it is paused',
      'lost (not A reference): Skipped Error: No answer',
      'linked (linked:1): Restarted',
      '',
    ].join('\n'),
  );
  expect(porcelainTexts.v1(session([]))).toBe('no containers matched filter\n');
});

test('json is a document with the field names of the Watchtower family', () => {
  const { containers }: { containers: readonly Record<string, unknown>[] } = JSON.parse(porcelainTexts.json(outcomes));
  expect(containers[0]).toEqual({
    name: 'updated',
    image: 'mock/app:latest',
    image_id: digestOf('image updated').slice(7, 19),
    latest_image_id: digestOf('new').slice(7, 19),
    state: 'Updated',
    update_available: true,
  });
  expect(containers[1]).toMatchObject({ state: 'Failed', latest_image_id: '', error: 'pull access denied' });
  expect(containers.map(({ update_available: available }) => available)).toEqual([
    true,
    false,
    true,
    false,
    true,
    false,
    false,
    false,
  ]);
  expect(JSON.parse(porcelainTexts.json(session([])))).toEqual({ containers: [] });
});
