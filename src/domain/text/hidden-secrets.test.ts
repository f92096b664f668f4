import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutSecrets } from './hidden-secrets.ts';

const password = fc.stringMatching(/^[A-Za-z0-9+/=!@#$%^&*._-]{8,40}$/).filter((text) => /[a-z0-9]{6}/i.test(text));
const base64 = (text: string) => Buffer.from(text).toString('base64');

const forms: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'in capital letters': (secret) => secret.toUpperCase(),
  'in base64': base64,
  'in base64 behind a user name': (secret) => base64(`jo:${secret}`),
  'in base64 behind another': (secret) => base64(`john:${secret}`),
  'in base64 for URLs': (secret) => Buffer.from(`x:${secret}:y`).toString('base64url'),
  'URL-encoded': encodeURIComponent,
  'URL-encoded in small letters': (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (byte) => byte.toLowerCase()),
  'URL-encoded, every byte of it': (secret) => Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&'),
};

describe('withoutSecrets()', () => {
  test.each(Object.entries(forms))('hides a secret %s, and shows the words around it', (_, form) => {
    fc.assert(
      fc.property(password, (secret) => {
        expect(withoutSecrets(`denied: who sent ${form(secret)} to us?`, [secret])).toBe('denied: who sent *** to us?');
      }),
    );
  });

  test.each(['ab', 'xy1', '!!!!', 'пароль', 'a+b (c)', '$&'])('hides a short or odd one: %s', (secret) => {
    expect(withoutSecrets(`no, not ${secret}`, [secret])).toBe('no, not ***');
  });

  test('hides all of a secret that contains another', () => {
    expect(withoutSecrets('no: jo:hunter22', ['hunter22', 'jo:hunter22', ''])).toBe('no: ***');
  });

  test('hides the beginning of a secret in a text that was cut there', () => {
    expect(withoutSecrets('no, not Tr0ub4d…', ['Tr0ub4dor&3'])).toBe('no, not ***…');
    expect(withoutSecrets('no, not this…', ['Tr0ub4dor&3'])).toBe('no, not this…');
  });

  test('shows ordinary words, whatever four letters they share with a secret', () => {
    const token = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7919) % 251)).toString('base64');
    const words = 'unauthorized: incorrect username or password; your subscription has ended';
    expect(withoutSecrets(words, [token, 'userPassEnded1', ''])).toBe(words);
  });
});
