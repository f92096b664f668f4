import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createOidcSignIns } from '../../src/interfaces/http/routes/oidc.ts';
import { createIssuer } from '../../src/adapters/oidc/issuer.ts';
import { clientSecretOf } from '../../src/composition/process-context.ts';
import { createSystemClock } from '../../src/adapters/process/clock.ts';
import type { OidcSettings, SessionChange } from '../../src/domain/settings/http-settings.ts';
import { createFakeClock } from '../support/clock/fake-clock.ts';
import { apiToken, ask, type HttpScene, type Reply, type SceneOptions, startHttp } from '../support/http/http-scene.ts';
import {
  type OidcIssuer,
  type Product,
  portOfRedirects,
  products,
  settingsOfClient,
  startIssuer,
  type Tampering,
} from '../support/http/oidc-issuer.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';

/** A browser with cookies, which follows redirects as far as it is told. */
type Browser = {
  readonly cookies: Map<string, Map<string, string>>;
  readonly visit: (url: string, options?: { readonly method?: string; readonly body?: string }) => Promise<Visited>;
};

type Visited = { readonly url: URL; readonly reply: Reply; readonly trail: readonly string[] };

function openBrowser(): Browser {
  const cookies = new Map<string, Map<string, string>>();
  return {
    cookies,
    async visit(start, { method = 'GET', body } = {}) {
      let url = new URL(start);
      const trail = [url.href];
      let how: { readonly method: string; readonly body?: string } = { method, ...(body !== undefined && { body }) };
      for (let hops = 0; hops < 15; hops += 1) {
        const jar = cookies.get(url.origin) ?? new Map<string, string>();
        cookies.set(url.origin, jar);
        const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
        const form = how.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
        const headers = { ...(cookie !== '' && { cookie }), ...form };
        const reply = await ask(url.origin, url.pathname + url.search, { token: null, headers, ...how });
        for (const line of reply.headers['set-cookie'] ?? []) {
          const [pair = ''] = line.split(';');
          const at = pair.indexOf('=');
          if (/expires=Thu, 01 Jan 1970|Max-Age=0/i.test(line)) jar.delete(pair.slice(0, at));
          else jar.set(pair.slice(0, at), pair.slice(at + 1));
        }
        const { location } = reply.headers;
        if (reply.status < 300 || reply.status > 399 || location === undefined) return { url, reply, trail };
        url = new URL(location, url);
        trail.push(url.href);
        how = { method: 'GET' };
      }
      throw new Error(`too many redirects: ${trail.join(' ')}`);
    },
  };
}

let issuer: OidcIssuer;
let scene: HttpScene;
const issuers = new Map<Product, OidcIssuer>();
const port = portOfRedirects();

beforeAll(async () => {
  for (const product of Object.values(products))
    issuers.set(product, await startIssuer({ product, redirectUrls: redirectUrls() }));
});
afterAll(async () => {
  for (const each of issuers.values()) await each.stop();
});
afterEach(async () => {
  issuer.tampering = {};
  await scene.stop();
});

function redirectUrls(): readonly string[] {
  const hosts = [`http://127.0.0.1:${port}`, 'https://upkeep.example.com', 'https://upkeep.example.com/upkeep'];
  return hosts.map((host) => `${host}/v1/oidc-callback`);
}

type StartOptions = SceneOptions & { readonly product?: Product; readonly oidc?: Partial<OidcSettings> };

async function start({ product = products.Authentik, oidc, settings, ...options }: StartOptions = {}): Promise<void> {
  const known = issuers.get(product);
  if (known === undefined) throw new Error('no such product');
  issuer = known;
  const effective: OidcSettings = { ...settingsOfClient(issuer, product), ...oidc };
  const made = createIssuer({
    settings: effective,
    clientSecret: () => (effective.clientSecret ? clientSecretOf(effective.clientSecret) : issuer.clientSecret),
    clock: createSystemClock(),
    version: '1.2.3',
    proxy: {},
    trust: { tlsMinVersion: 'TLSv1.2', extraCa: [], systemTrust: undefined },
  });
  const people = {
    viewer: ['group:viewers', 'vera@example.com'],
    operator: ['group:operators', 'otto@example.com'],
    admin: ['group:upkeep-admins', 'anna@example.com'],
  };
  scene = await startHttp(createScriptedService(), {
    issuer: made,
    openSignIns: createOidcSignIns,
    dashboardFolder: 'none',
    settings: { port, oidc: effective, people, ...settings },
    ...options,
  });
}

/** Signs in as a person, and returns where the browser is then. */
async function signIn(name: string, browser = openBrowser(), to = ''): Promise<Visited> {
  const form = await browser.visit(`${scene.url}/v1/oidc-sign-in${to === '' ? '' : `?to=${encodeURIComponent(to)}`}`);
  // A browser that the issuer knows already comes back at once.
  if (form.url.origin === scene.url) return form;
  return browser.visit(form.url.href, { method: 'POST', body: `login=${name}` });
}

const sessionOf = async (browser: Browser) => (await browser.visit(`${scene.url}/v1/session`)).reply.json();

async function failureOf(name = 'anna', browser = openBrowser()): Promise<string> {
  await signIn(name, browser);
  const session = await sessionOf(browser);
  expect(session.signed_in).toBe(false);
  return session.failure;
}

describe.each(Object.entries(products))('with an issuer like %s', (name, product) => {
  test.each([
    ['anna', 'admin'],
    ['otto', 'operator'],
    ['vera', 'viewer'],
  ])('%s is signed in, and has the role %s', async (person, role) => {
    await start({ product });
    const browser = openBrowser();
    const { url, trail } = await signIn(person, browser, '#/c/web?show=ready');
    expect([url.origin, url.pathname, url.hash]).toEqual([scene.url, '/', '#/c/web?show=ready']);
    const shown = product.hasVerified ? `${person}@example.com` : person;
    expect(await sessionOf(browser)).toMatchObject({
      signed_in: true,
      role,
      name: shown,
      issuer: new URL(issuer.url).host,
    });
    expect((await browser.visit(`${scene.url}/v1/containers`)).reply.status).toBe(200);
    expect((await browser.visit(`${scene.url}/v1/sessions`)).reply.status).toBe(role === 'admin' ? 200 : 403);
    // The code is in the address of one request only, and in no line of the log.
    const code = trail.map((each) => new URL(each).searchParams.get('code')).find((each) => each !== null) ?? '';
    expect(code.length).toBeGreaterThan(20);
    expect(JSON.stringify(scene.lines)).not.toContain(code);
    expect(name).not.toBe('');
  });

  test('eve is on no list, and told so', async () => {
    await start({ product });
    expect(await failureOf('eve')).toMatch(/"eve(?:@example.com)?" has no role here/);
  });

  test('a rotated key is known at once', async () => {
    await start({ product });
    await signIn('anna');
    await issuer.rotate();
    const browser = openBrowser();
    await signIn('anna', browser);
    expect((await sessionOf(browser)).signed_in).toBe(true);
  });
});

test('an address that the issuer has not verified lets nobody in', async () => {
  await start({ settings: { people: { viewer: [], operator: [], admin: ['anna@example.com', '@example.com'] } } });
  expect(await failureOf('anna')).toContain('has no role here, and the issuer has not verified the e-mail address');
});

test.each([
  [
    'an address that is not verified',
    { preferred_username: undefined, email: 'anna@example.com' },
    'unverified:anna@example.com',
  ],
  ['the address of another as a name', { preferred_username: 'anna@example.com' }, 'unverified:anna@example.com'],
  ['the name of a token', { preferred_username: 'token ci' }, '"token ci"'],
  ['the words for a token without a name', { preferred_username: 'API token' }, '"API token"'],
])('%s is not taken for somebody else in what is told', async (_, claims, told) => {
  await start();
  const change = (all: Readonly<Record<string, unknown>>) => ({ ...all, ...claims, email_verified: false });
  issuer.tampering = { claims: change, userInfo: change };
  const browser = openBrowser();
  await signIn('otto', browser);
  expect(await sessionOf(browser)).toMatchObject({ role: 'operator', name: told });
  const refused = await browser.visit(`${scene.url}/v1/tokens`);
  expect(refused.reply.json().error).toBe(`${told} is operator, and this needs admin`);
});

test('a verified domain lets everyone of it in, and no other', async () => {
  const product = products.Google;
  for (const [domain, isIn] of [
    ['@example.com', true],
    ['@ample.com', false],
    ['@example.co', false],
    ['@sub.example.com', false],
  ] as const) {
    await start({ product, settings: { people: { viewer: [domain], operator: [], admin: [] } } });
    const browser = openBrowser();
    await signIn('eve', browser);
    expect([domain, (await sessionOf(browser)).signed_in]).toEqual([domain, isIn]);
    await scene.stop();
  }
});

describe('an answer that was tampered with', () => {
  const late = (seconds: number) => (claims: Readonly<Record<string, unknown>>) => {
    const now = Math.floor(Date.now() / 1000) + seconds;
    return { ...claims, iat: now, exp: now + 60, nbf: now };
  };
  const unsigned = (token: string) => {
    const [, payload = ''] = token.split('.');
    return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  };
  const refusals: readonly (readonly [string, Tampering, RegExp])[] = [
    ['is for another client', { claims: (claims) => ({ ...claims, aud: 'another-client' }) }, /not valid/],
    [
      'is for several clients',
      { claims: (claims) => ({ ...claims, aud: ['upkeep', 'other'], azp: 'other' }) },
      /not valid/,
    ],
    ['has another nonce', { claims: (claims) => ({ ...claims, nonce: 'of-someone-else' }) }, /not valid/],
    ['has no nonce', { claims: ({ nonce: _, ...claims }) => claims }, /not valid/],
    ['is of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://evil.test' }) }, /not valid/],
    ['has no subject', { claims: ({ sub: _, ...claims }) => claims }, /not valid/],
    ['has expired', { claims: late(-600) }, /compare the clocks/],
    ['is of tomorrow', { claims: late(86_400) }, /compare the clocks|not valid/],
    ['is not signed', { token: unsigned }, /not valid|no ID token|refuses/],
    ['has a signature of someone else', { token: (token) => `${token.slice(0, -20)}${'A'.repeat(20)}` }, /not valid/],
    ['has another state', { answer: (url) => (url.searchParams.set('state', 'forged'), url) }, /not valid/],
    ['has no state', { answer: (url) => (url.searchParams.delete('state'), url) }, /not valid/],
    [
      'comes from a mixed-up issuer',
      { answer: (url) => (url.searchParams.set('iss', 'https://evil.test'), url) },
      /not valid/,
    ],
    [
      'does not name its issuer, which it promises to do',
      { answer: (url) => (url.searchParams.delete('iss'), url) },
      /not valid/,
    ],
    ['is signed with a key of someone else', { token: (token) => signedByAnother(token, false) }, /not valid/],
    ['brings its own key along', { token: (token) => signedByAnother(token, true) }, /not valid/],
    ['is signed with the secret of this client', { token: signedWithTheSecret }, /not valid/],
    ['has metadata of another issuer', { metadata: (all) => ({ ...all, issuer: 'https://evil.test' }) }, /not valid/],
  ];
  async function signedByAnother(token: string, hasKey: boolean): Promise<string> {
    const [head = '', payload = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = hasKey ? { jwk: await exportJWK(publicKey) } : {};
    return new SignJWT(JSON.parse(payload)).setProtectedHeader({ ...JSON.parse(head), ...jwk }).sign(privateKey);
  }

  function signedWithTheSecret(token: string): Promise<string> {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
    const secret = new TextEncoder().encode(issuer.clientSecret);
    return new SignJWT(JSON.parse(payload)).setProtectedHeader({ alg: 'HS256' }).sign(secret);
  }

  test.each(refusals)('%s: nobody is signed in', async (_, tampering, why) => {
    await start();
    issuer.tampering = tampering;
    expect(await failureOf()).toMatch(why);
    expect(scene.lines.some(({ message }) => message.includes('OpenID Connect failed'))).toBe(true);
  });

  test('was signed with a key that has been replaced: nobody is signed in', async () => {
    await start();
    let signBefore: (claims: Readonly<Record<string, unknown>>) => Promise<string> = () => Promise.reject(new Error());
    issuer.tampering = { token: (token, sign) => ((signBefore = sign), token) };
    await signIn('anna');
    await issuer.rotate();
    issuer.tampering = {
      token: (token) => signBefore(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())),
    };
    expect(await failureOf()).toMatch(/not valid/);
  });

  test('is about another person than its ID token: nobody is signed in', async () => {
    await start({ product: products.Authelia });
    issuer.tampering = { userInfo: (claims) => ({ ...claims, sub: 'anna' }) };
    expect(await failureOf('otto')).toMatch(/not valid/);
  });

  test.each([30, -30])('a clock that differs by %i seconds is no reason', async (seconds) => {
    await start();
    issuer.tampering = { claims: late(seconds) };
    const browser = openBrowser();
    await signIn('anna', browser);
    expect((await sessionOf(browser)).signed_in).toBe(true);
  });
});

describe('a refusal in words of the issuer', () => {
  test.each([
    ['in the form', products.Authentik],
    ['in a header', products.Keycloak],
  ])('shows neither code nor secret, which it got %s, on the page and in the log', async (_, product) => {
    await start({ product });
    let given: readonly string[] = [];
    issuer.tampering = {
      refusal: (form, authorization) => {
        const sent = [form.get('code'), form.get('code_verifier'), form.get('client_secret'), authorization.slice(6)];
        given = [...sent.filter((text): text is string => text !== null && text !== ''), issuer.clientSecret ?? ''];
        return { error: 'invalid_grant', error_description: `You have sent ${given.join(' ')}.` };
      },
    };
    const why = await failureOf();
    expect(why).toMatch(/it refuses with "invalid_grant" \(You have sent \*\*\*( \*\*\*)+\.\)$/);
    expect(given.length).toBeGreaterThan(3);
    for (const secret of given) expect(why + JSON.stringify(scene.lines)).not.toContain(secret);
  });

  test('is shown with a bound and without control characters, and no part of a secret is left at its end', async () => {
    await start();
    const secret = issuer.clientSecret ?? '';
    for (const before of [0, 150, 190, 1990]) {
      const said = `\u001b[2J${'x'.repeat(before)}${secret} ${'y'.repeat(5000)}`;
      issuer.tampering = { refusal: () => ({ error: said, error_description: said }) };
      const why = await failureOf();
      expect(why.length).toBeLessThan(350);
      expect(why).not.toContain('\u001b');
      expect(why).not.toContain(secret.slice(0, 6));
    }
  });
});

describe('an attacker', () => {
  /** Stops before the browser goes back to Upkeep, and returns that address. */
  async function answerFor(name: string): Promise<{ readonly back: string; readonly browser: Browser }> {
    const browser = openBrowser();
    let back = '';
    issuer.tampering = {
      answer: (url) => {
        back = url.href;
        return new URL(`${scene.url}/livez?code=`);
      },
    };
    await signIn(name, browser);
    issuer.tampering = {};
    return { back, browser };
  }

  test('cannot sign a victim in by a link with their own code', async () => {
    await start();
    const { back } = await answerFor('anna');
    const victim = openBrowser();
    await victim.visit(back);
    expect((await sessionOf(victim)).signed_in).toBe(false);
    // Also not one who is just signing in.
    await victim.visit(`${scene.url}/v1/oidc-sign-in`);
    await victim.visit(back);
    expect(await sessionOf(victim)).toMatchObject({ signed_in: false, failure: expect.stringContaining('not valid') });
  });

  test('cannot use a code again', async () => {
    await start();
    const { back, browser } = await answerFor('anna');
    const cookie = browser.cookies.get(scene.url)?.get('upkeep_sign_in') ?? '';
    await browser.visit(back);
    expect((await sessionOf(browser)).signed_in).toBe(true);
    const thief = openBrowser();
    thief.cookies.set(scene.url, new Map([['upkeep_sign_in', cookie]]));
    await thief.visit(back);
    expect((await sessionOf(thief)).signed_in).toBe(false);
  });

  test('cannot use the code of another sign-in for their own', async () => {
    await start();
    const { back } = await answerFor('anna');
    const thief = openBrowser();
    issuer.tampering = {
      answer: (url) => (url.searchParams.set('code', new URL(back).searchParams.get('code') ?? ''), url),
    };
    expect(await failureOf('eve', thief)).toMatch(/refuses|not valid/);
  });

  test.each([
    'https://evil.test/',
    '//evil.test',
    '/\\evil.test',
    'javascript:alert(1)',
    '#\r\nSet-Cookie: a=b',
    '#<script>',
  ])('cannot have the browser sent to %j', async (to) => {
    await start();
    const { url, trail } = await signIn('anna', openBrowser(), to);
    expect([url.origin, url.hash]).toEqual([scene.url, '']);
    expect(trail.filter((each) => each.includes('evil.test') && !each.includes('to='))).toEqual([]);
  });

  test('cannot fix the session before the sign-in', async () => {
    await start();
    const browser = openBrowser();
    const first = await scene.ask('/v1/session', {
      method: 'POST',
      token: null,
      headers: { origin: scene.url, 'x-upkeep-page': '1' },
      body: JSON.stringify({ secret: apiToken }),
    });
    const [name = '', value = ''] = String(first.headers['set-cookie']?.[0]).split(';')[0]?.split('=') ?? [];
    browser.cookies.set(scene.url, new Map([[name, value]]));
    await signIn('vera', browser);
    expect(browser.cookies.get(scene.url)?.get(name)).not.toBe(value);
    expect(await sessionOf(browser)).toMatchObject({ role: 'viewer' });
  });

  test('cannot have requests sent by another site', async () => {
    await start();
    const browser = openBrowser();
    await signIn('anna', browser);
    const { reply } = await browser.visit(`${scene.url}/v1/check`, { method: 'POST', body: '' });
    expect(reply.status).toBe(403);
  });

  test('cannot have the issuer asked without end', async () => {
    await start();
    const statuses = [];
    for (let each = 0; each < 25; each += 1)
      statuses.push((await scene.ask('/v1/oidc-sign-in', { token: null })).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  });

  test('uses up no sign-ins of others when its limit is reached', async () => {
    await start({ settings: { trustedProxies: ['127.0.0.1'] } });
    const begin = (address: string) =>
      scene.ask('/v1/oidc-sign-in', { token: null, headers: { 'x-forwarded-for': address } });
    for (let each = 0; each < 220; each += 1) await begin('192.0.2.1');
    expect((await begin('192.0.2.1')).status).toBe(429);
    expect((await begin('192.0.2.2')).status).toBe(303);
  });
});

describe('a file with the secret of this client', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'upkeep-client-secret-')), 'secret');
  afterAll(() => rmSync(dirname(path), { recursive: true, force: true }));

  test('is read at each sign-in, and none is tried without the secret', async () => {
    writeFileSync(path, `${issuers.get(products.Authentik)?.clientSecret}\n`);
    await start({ oidc: { clientSecret: { kind: 'file', path } } });
    const browser = openBrowser();
    await signIn('anna', browser);
    expect((await sessionOf(browser)).signed_in).toBe(true);
    const spoilt: readonly (readonly [string | undefined, RegExp])[] = [
      ['another-secret', /refuses/],
      ['', /the file is empty/],
      ['upkeep: SECRET-WORD', /a name or a second line/],
      ['"SECRET-WORD"', /quotes/],
      [undefined, /there is no such file/],
    ];
    for (const [text, why] of spoilt) {
      rmSync(path);
      if (text !== undefined) writeFileSync(path, text);
      const asked = issuer.asked.filter((each) => each.endsWith('/token')).length;
      // The sign-in may fail before the browser has been sent to the issuer.
      expect(await failureOf()).toMatch(why);
      expect(issuer.asked.filter((each) => each.endsWith('/token')).length - asked).toBe(
        text === 'another-secret' ? 1 : 0,
      );
      if (text === undefined) writeFileSync(path, '');
    }
    expect(JSON.stringify(scene.lines)).not.toContain('SECRET-WORD');
  });
});

test.each([
  ['the Host of the request', {}, {}, `http://127.0.0.1:${port}`],
  [
    'a trusted proxy',
    { trustedProxies: ['127.0.0.1'] },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'upkeep.example.com' },
    'https://upkeep.example.com',
  ],
  [
    'a trusted proxy at a sub-path',
    { trustedProxies: ['127.0.0.1'] },
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'upkeep.example.com', 'x-forwarded-prefix': '/upkeep' },
    'https://upkeep.example.com/upkeep',
  ],
  [
    'no proxy that is not trusted',
    {},
    { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.test' },
    `http://127.0.0.1:${port}`,
  ],
])('the address to come back to is from %s', async (_, settings, headers, expected) => {
  await start({ settings });
  const { headers: reply } = await scene.ask('/v1/oidc-sign-in', { token: null, headers });
  const location = new URL(String(reply.location));
  expect(location.searchParams.get('redirect_uri')).toBe(`${expected}/v1/oidc-callback`);
  expect(reply['set-cookie']?.[0]?.endsWith('; Secure')).toBe(expected.startsWith('https'));
  expect(location.searchParams.get('code_challenge_method')).toBe('S256');
});

test('an issuer that is away locks nobody out who is in, and is not asked before', async () => {
  await start({ oidc: { issuer: 'http://127.0.0.1:9' } });
  expect((await scene.ask('/v1/containers')).status).toBe(200);
  const browser = openBrowser();
  const { url } = await browser.visit(`${scene.url}/v1/oidc-sign-in?to=%23%2Fhistory`);
  expect([url.pathname, url.hash]).toEqual(['/', '#/history']);
  const { failure, signed_in } = await sessionOf(browser);
  expect([signed_in, failure]).toEqual([false, expect.stringContaining('127.0.0.1:9')]);
  expect((await sessionOf(browser)).failure).toBeUndefined();
});

test('signing out ends the session here, and there where it is offered', async () => {
  for (const [product, isOffered] of [
    [products.Keycloak, true],
    [products.Google, false],
  ] as const) {
    await start({ product });
    const browser = openBrowser();
    await signIn('anna', browser);
    const cookie = [...(browser.cookies.get(scene.url) ?? [])].map((pair) => pair.join('=')).join('; ');
    const headers = { cookie, origin: scene.url, 'x-upkeep-page': '1' };
    const reply = (await scene.ask('/v1/session', { method: 'DELETE', token: null, headers })).json();
    expect(reply.go_to?.startsWith(issuer.url) ?? false).toBe(isOffered);
    expect((await scene.ask('/v1/containers', { token: null, headers: { cookie } })).status).toBe(401);
    await scene.stop();
  }
});

test('a session lasts a day without use and a week at most, and ends when the person is taken off the list', async () => {
  const changes: SessionChange[] = [];
  const store = {
    read: () => Promise.resolve(changes),
    fault: () => undefined,
    append: (items: readonly SessionChange[]) => {
      changes.push(...items);
      return Promise.resolve('kept' as const);
    },
  };
  const sessions = () => ({ password: undefined, kept: { changes: [...changes], store } });
  const clock = createFakeClock({ auto: false });
  await start({ clock, sessions: sessions() });
  const browser = openBrowser();
  await signIn('anna', browser);
  const isIn = async () => (await sessionOf(browser)).signed_in;
  const hours: boolean[] = [];
  for (let each = 0; each < 9; each += 1) {
    hours.push(await isIn());
    await clock.advance(20 * 3_600_000);
  }
  expect(hours).toEqual([...Array.from({ length: 9 }, (_, index) => index * 20 < 7 * 24)]);
  await scene.stop();
  await start({ clock, sessions: sessions() });
  const second = openBrowser();
  await signIn('anna', second);
  expect((await sessionOf(second)).signed_in).toBe(true);
  await scene.stop();
  await start({ clock, sessions: sessions(), settings: { people: { viewer: ['bob'], operator: [], admin: [] } } });
  expect((await sessionOf(second)).signed_in).toBe(false);
  expect(JSON.stringify(changes)).not.toContain('eyJ');
});
