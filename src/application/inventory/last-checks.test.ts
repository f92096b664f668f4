import { describe, expect, test } from 'vitest';
import { digestOf, idOf } from '../../../test/support/builders.ts';
import { checkedContainer } from '../../../test/support/fake-application.ts';
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
    expect(checks.of({ ...web, imageId: digestOf('other') }).checkedAtMs).toBeUndefined();
    expect(checks.of({ ...web, id: idOf('made anew'), image: 'web:2' }).checkedAtMs).toBeUndefined();
  });
});
