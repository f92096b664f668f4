import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import type { WireAnswer } from '../http/exchange.ts';
import { createTokens } from './tokens.ts';

const login = { registry: 'registry.test', credential: undefined, origin: 'there is no login for it' };

test('callers that wait for a shared token do not read the list of companions', async () => {
  const scopes = Array.from({ length: 40 }, (_, at) => `repository:team/app${at}:pull`);
  let read = 0;
  function* companions(): Generator<string> {
    for (const scope of scopes) {
      read += 1;
      yield scope;
    }
  }
  const requests: URL[] = [];
  const tokens = createTokens(createFakeClock(), ({ url }) => {
    requests.push(url);
    return Promise.resolve(answer({ token: 'shared' }));
  });
  const realm = new URL('https://auth.test/token');
  const given = await Promise.all(
    scopes.map((scope) =>
      tokens.get({ realm, service: undefined, scopes: [scope], login, companions: { [Symbol.iterator]: companions } }),
    ),
  );
  expect(new Set(given)).toEqual(new Set(['shared']));
  expect(requests.map(({ searchParams }) => searchParams.getAll('scope').length)).toEqual([40]);
  expect(read).toBe(40);
});

function answer(body: object): WireAnswer {
  return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)), showable: (words) => words };
}
