import { expect, test } from 'vitest';
import { localTimeZone } from './local-time-zone.ts';

test('the time zone of the machine is the one that Node finds', () => {
  expect(localTimeZone()).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
});
