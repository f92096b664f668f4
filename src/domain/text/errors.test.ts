import { expect, test } from 'vitest';
import { describeWithRemedy, ServiceError } from './errors.ts';

test.each([
  [new ServiceError('registry-denied', 'Cannot check "a"', { remedy: 'log in' }), 'Cannot check "a". Log in'],
  [new ServiceError('registry-denied', 'Cannot check "a"', { remedy: '' }), 'Cannot check "a"'],
  [new ServiceError('registry-denied', 'Cannot check "a"'), 'Cannot check "a"'],
  [new Error('x'), 'internal error: x'],
])('describeWithRemedy() of %o', (error, text) => expect(describeWithRemedy(error)).toBe(text));
