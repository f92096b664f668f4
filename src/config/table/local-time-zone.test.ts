import { expect, test } from 'vitest';
import { localTimeZone } from './times.ts';

test('the time zone of the machine is the one that Node finds', () => {
  expect(localTimeZone()).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
});
