import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutSecrets } from './hidden-secrets.ts';

const password = fc.stringMatching(/^[A-Za-z0-9+/=!@#$%^&*._-]{8,40}$/).filter((text) => /[a-z0-9]{6}/i.test(text));
const base64 = (text: string) => Buffer.from(text).toString('base64');

const disguises: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'in base64': base64,
  'in base64 behind a user name': (secret) => base64(`jo:${secret}`),
  'in base64 behind another': (secret) => base64(`john:${secret}`),
  'in base64 twice': (secret) => base64(base64(`jo:${secret}`)),
  'in base64 for URLs': (secret) => Buffer.from(`x:${secret}:y`).toString('base64url'),
  'URL-encoded': encodeURIComponent,
  'URL-encoded, every byte of it': (secret) => Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&'),
  'in hexadecimal': (secret) => Buffer.from(secret).toString('hex'),
  'spaced out': (secret) => [...secret].join(' '),
  'in other case': (secret) => secret.toUpperCase(),
  backwards: (secret) => [...secret].toReversed().join(''),
  'the first half': (secret) => secret.slice(0, Math.ceil(secret.length / 2)),
  'the last half': (secret) => secret.slice(Math.floor(secret.length / 2)),
};

describe('withoutSecrets()', () => {
  test.each(Object.entries(disguises))('withholds words that repeat a secret: %s', (_, disguise) => {
    fc.assert(
      fc.property(password, (secret) => {
        const words = `denied: who sent ${disguise(secret)}?`;
        const said = withoutSecrets(words, [secret, base64(`jo:${secret}`)]);
        expect(said).toBe('its message is withheld, because it repeats a secret that was sent');
      }),
    );
  });

  test.each(['ab', 'xy1', '!!!!', 'пароль'])('withholds words that repeat a short or odd one: %s', (secret) => {
    expect(withoutSecrets(`no, not ${secret}`, [secret])).not.toContain(secret);
  });

  test('shows other words, also beside long tokens', () => {
    const token = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7919) % 251)).toString('base64');
    const words = 'unauthorized: incorrect username or password; your subscription has ended';
    expect(withoutSecrets(words, [token, 'Tr0ub4dor&3', ''])).toBe(words);
  });

  test('reads a text that was encoded ten thousand times', () => {
    expect(withoutSecrets(`%${'25'.repeat(10_000)}41`, ['Tr0ub4dor&3'])).toMatch(/^%2525/);
  });
});
