import { expect, test } from 'vitest';
import { createReportFilter } from './repair-first.ts';

test('a transaction that stays unrepaired is reported once, and a service apart from the container of its name', () => {
  const isNews = createReportFilter();
  const left = { containers: ['web'], result: 'left', reason: 'another instance is updating it' } as const;
  const service = { ...left, kind: 'service' } as const;
  expect([left, left, service, service].map(isNews)).toEqual([true, false, true, false]);
});
