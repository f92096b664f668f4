import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import type { Answer } from '../../../test/support/http/http-server.ts';

const rig = createOciRig();

type Echo = (secret: string, login: string) => ReturnType<Answer>;
/** The answer to a HEAD has no text; the GET after it has one. */
const saying = (message: string) => ({
  status: 403,
  body: JSON.stringify({ errors: [{ code: 'DENIED', message }] }),
});
const base64 = (text: string) => Buffer.from(text).toString('base64');

const echoes: Readonly<Record<string, Echo>> = {
  'the password': (secret) => saying(`no: ${secret}`),
  'the header': (_, login) => saying(`no: ${base64(login)}`),
  'the password in base64': (secret) => saying(`no: ${base64(secret)}`),
  'the password for URLs': (secret) => saying(`no: ${encodeURIComponent(secret)}`),
  'the password as a token server': (secret) => ({
    status: 401,
    headers: { 'www-authenticate': `Bearer realm="ftp://${secret}/"` },
  }),
  'the password as a place to go to': (secret) => ({ status: 307, headers: { location: `http://[${secret}` } }),
  'the password as a scheme': (secret) => ({ status: 307, headers: { location: `x${secret}:y` } }),
  'the password with 429': (secret) => ({ ...saying(`wait, ${secret}`), status: 429 }),
  'the password with 404': (secret) => ({ ...saying(`none, ${secret}`), status: 404 }),
  'the password with 500': (secret) => ({ ...saying(`oh, ${secret}`), status: 500 }),
};

/** Without digits and syllables: the text of an error contains words and the number of a port. */
const repoPass = 'qxzjkvwqzxvkjwxq';

/** The text has no four consecutive characters of the secret. */
function expectNothingOf(secret: string, text: string): void {
  for (let start = 0; start + 4 <= secret.length; start += 1)
    expect(text.toLowerCase()).not.toContain(secret.slice(start, start + 4).toLowerCase());
}

describe('a registry that sends back what it was sent', () => {
  test.each(Object.entries(echoes))('%s: none of it is in the error', async (_, echo) => {
    const registry = await rig.serve((request) =>
      request.headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }
        : echo(repoPass, `jo:${repoPass}`),
    );
    const { message, remedy = '' } = await failureOf(
      rig.registry({ repoUser: 'jo', repoPass, repoHost: registry.host }).resolve(at(registry)),
    );
    for (const text of [message, remedy]) {
      expectNothingOf(repoPass, text);
      expectNothingOf(base64(`jo:${repoPass}`).slice(4, -4), text);
    }
  });

  test('the token of its token server, and what that was sent', async () => {
    const token = randomBytes(30).toString('base64url');
    const tokens = await rig.serve(() => ({ body: JSON.stringify({ token }) }));
    const registry = await rig.serve(({ headers }) =>
      headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': `Bearer realm="${tokens.url}/token"` } }
        : { status: 403, body: JSON.stringify({ message: `${headers.authorization} ${repoPass}` }) },
    );
    const options = { repoUser: 'jo', repoPass, repoHost: registry.host };
    const { message } = await failureOf(rig.registry(options).resolve(at(registry)));
    expect(message).toContain('***');
    expectNothingOf(repoPass, message);
    expect(message).not.toContain(token.slice(0, 8));
  });

  test('other words are shown', async () => {
    const registry = await rig.serve(() => saying('the plan of your team has ended'));
    const options = { repoUser: 'jo', repoPass, repoHost: registry.host };
    const { message } = await failureOf(rig.registry(options).resolve(at(registry)));
    expect(message).toContain('(the plan of your team has ended)');
  });
});
