import { expect, test } from 'vitest';
import { requestsLeft } from './throttle.ts';

test.each([
  [{ 'ratelimit-remaining': '76;w=21600' }, 76],
  [{ 'ratelimit-remaining': ' 0 ' }, 0],
  [{ 'x-ratelimit-remaining': '4999' }, 4999],
  [{ 'ratelimit-remaining': '-1' }, undefined],
  [{ 'ratelimit-remaining': 'many' }, undefined],
  [{ 'ratelimit-remaining': '9'.repeat(400) }, undefined],
  [{}, undefined],
])('requestsLeft() of %o is %o', (headers, expected) => expect(requestsLeft({ headers })).toBe(expected));
