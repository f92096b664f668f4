import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { headerText } from './requests.ts';

test('headerText() is ASCII on one line, and says the same when it is decoded', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 300 }), (text) => {
      const value = headerText(text);
      expect(value).toMatch(/^[\x20-\x7e]*$/);
      const words = value.split(' ').filter((word) => word.startsWith('=?UTF-8?B?'));
      for (const word of words) expect(word.length).toBeLessThanOrEqual(75);
      if (words.length === 0) return;
      const clear = words.map((word) => Buffer.from(word.slice(10, -2), 'base64').toString()).join('');
      const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
      if (!/\p{Surrogate}/u.test(text)) expect(clear).toBe(line);
    }),
  );
});
