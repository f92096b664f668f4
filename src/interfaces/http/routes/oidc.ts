import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type BegunSignIn, rightsOfPerson } from '../../../domain/access/rights.ts';
import { describeError } from '../../../domain/text/errors.ts';
import { putNewest } from '../../../domain/text/plain-data.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { createAttemptLimiter, createOriginReader, tooManyAttempts } from '../guards/clients.ts';
import { cookieOf } from '../guards/sessions.ts';
import { HttpError } from '../replies/errors.ts';
import { queryOf, text, unlisted } from '../requests/request.ts';
import { defineRoute, type Route, type RouteReply } from '../service/route.ts';
import type { RouteParts } from './routes.ts';

/** The sign-in with OpenID Connect. */
export type OidcSignIns = {
  readonly routes: readonly Route[];
  /** Why the last sign-in of this browser failed, once. */
  readonly failureOf: (request: IncomingMessage) => string | undefined;
  /** The address that signs the person of an ended session out at the issuer, if it offers that. */
  readonly endUrl: (sessionId: string) => Promise<string | undefined>;
};

/**
 * A sign-in belongs to the browser that began it: its cookie names what has to come back, so that nobody can be signed in
 * as someone else by a link. It is taken once, and lasts ten minutes. An installation without an issuer does not load this
 * file.
 */
export function createOidcSignIns({ settings, issuer, browsers, clock, log }: RouteParts): OidcSignIns {
  const { oidc, people } = settings;
  if (issuer === undefined || oidc === undefined) throw new Error('a sign-in without an issuer');
  const signInIssuer = issuer;
  const originOf = createOriginReader(settings);
  const begun = new Map<string, SignIn>();
  const idTokens = new Map<string, string>();
  const takeAttempt = createAttemptLimiter({ ...maxAttempts, monotonicMs: clock.monotonicMs });

  function take(request: IncomingMessage): SignIn | undefined {
    const key = cookieOf(request.headers.cookie, cookieName) ?? '';
    const found = begun.get(key);
    begun.delete(key);
    return found === undefined || clock.monotonicMs() > found.untilMs ? undefined : found;
  }

  function keep(signIn: Omit<SignIn, 'untilMs'>, isSecure: boolean): string {
    const key = randomBytes(32).toString('base64url');
    putNewest(begun, key, { ...signIn, untilMs: clock.monotonicMs() + lifeMs }, maxBegun);
    // Of the three, only `Lax` is sent when the issuer sends the browser back.
    return `${cookieName}=${key}; Max-Age=${lifeMs / 1000}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  function failed(reply: RouteReply, { why, to, client, isSecure }: Failure): RouteReply {
    log.warn('A sign-in to the page with OpenID Connect failed', { client, why });
    return reply.header('Set-Cookie', keep({ to, why }, isSecure)).redirect(`../${to}`, 303);
  }

  const shared = {
    group: 'dashboard',
    access: 'open',
    needs: 'nothing',
    filter: 'not concerned',
    answersHead: false,
    describedAs: {},
  } as const;
  const beginRoute = defineRoute({
    ...shared,
    path: '/v1/oidc-sign-in',
    summary: 'Sign in with OpenID Connect',
    description: 'Sends the browser to the issuer.',
    query: { to: text('The part of the page to come back to, which begins with #') },
    replies: {
      303: { description: 'The issuer, or the page if it cannot be asked' },
      429: { description: 'Too many' },
    },
    answer: async ({ query, request: { raw, address } }, reply) => {
      const { allowed, resetMs } = takeAttempt(address);
      if (!allowed) throw tooManyAttempts(resetMs);
      const redirectUrl = oidc.redirectUrl ?? redirectUrlFor(raw);
      const isSecure = redirectUrl.startsWith('https:');
      const to = placeIn(query.to);
      try {
        const { url, begun: sent } = await signInIssuer.begin(redirectUrl);
        return reply.header('Set-Cookie', keep({ to, sent }, isSecure)).redirect(url, 303);
      } catch (error) {
        return failed(reply, { why: describeError(error), to, client: address, isSecure });
      }
    },
  });
  const callbackRoute = defineRoute({
    ...shared,
    path: '/v1/oidc-callback',
    summary: 'End a sign-in with OpenID Connect',
    description: 'The issuer sends the browser here.',
    query: Object.fromEntries(answerParameters.map((name) => [name, unlisted(text('Part of the answer'))])),
    replies: { 303: { description: 'The page, signed in or with the reason why not' } },
    answer: async ({ request: { raw, address: client } }, reply) => {
      const signIn = take(raw);
      const { to = '', sent } = signIn ?? {};
      const isSecure = (sent?.redirectUrl ?? oidc.redirectUrl ?? '').startsWith('https:');
      const refuse = (why: string) => failed(reply, { why, to, client, isSecure });
      if (sent === undefined) return refuse('this sign-in has expired, or another one has begun since: try again');
      try {
        const { idToken, isUnverified, ...person } = await signInIssuer.finish(queryOf(raw.url ?? ''), sent);
        const named = { ...person, from: 'issuer' } as const;
        if (rightsOfPerson(named, people) === undefined) {
          const hint = isUnverified ? ', and the issuer has not verified the e-mail address' : '';
          return refuse(`${quoted(person.name, 100)} has no role here${hint}`);
        }
        const { browser, address } = { browser: raw.headers['user-agent'] ?? '', address: client };
        const { session, cookie } = await browsers.signInAs(person, { isSecure, browser, address });
        if (idToken !== undefined && idToken.length <= maxIdToken)
          putNewest(idTokens, session.id, idToken, maxIdTokens);
        log.info('A browser has signed in to the page', { client, name: person.name });
        return reply.header('Set-Cookie', cookie).redirect(`../${to}`, 303);
      } catch (error) {
        return refuse(describeError(error));
      }
    },
  });

  return {
    routes: [beginRoute, callbackRoute],
    failureOf: (request) => {
      const found = begun.get(cookieOf(request.headers.cookie, cookieName) ?? '');
      return found?.why === undefined ? undefined : take(request)?.why;
    },
    async endUrl(sessionId) {
      const idToken = idTokens.get(sessionId);
      idTokens.delete(sessionId);
      // The session has ended here in any case.
      return signInIssuer.endUrl(idToken).catch(() => undefined);
    },
  };

  function redirectUrlFor(raw: IncomingMessage): string {
    const origin = originOf(raw);
    if (origin === undefined)
      throw new HttpError(400, 'the address of this service is not known: set --oidc-redirect-url');
    const [path = ''] = (raw.url ?? '').split('?', 1);
    const folder = path.slice(0, path.lastIndexOf('/v1/'));
    return `${origin}${folder}/v1/oidc-callback`;
  }
}

/** `sent`: a sign-in under way. `why`: one that has failed. */
type SignIn = { readonly to: string; readonly sent?: BegunSignIn; readonly why?: string; readonly untilMs: number };

type Failure = {
  readonly why: string;
  readonly to: string;
  readonly client: string;
  readonly isSecure: boolean;
};

const cookieName = 'upkeep_sign_in';
const lifeMs = 600_000;
const maxBegun = 1000;

/** In a minute: each is a question to the issuer. */
const maxAttempts = { ofClient: 20, ofAll: 200 };

const maxIdToken = 16_384;
const maxIdTokens = 100;

/** https://openid.net/specs/openid-connect-core-1_0.html#AuthResponse, RFC 9207, and what issuers add. */
const answerParameters = [
  ...['code', 'state', 'iss', 'error', 'error_description', 'error_uri', 'session_state', 'scope', 'authuser'],
  ...['prompt', 'hd'],
];

/** Only a part of the own page: an address would be an open redirect. */
function placeIn(to: string | undefined): string {
  return to !== undefined && /^#[\w/?=&%.,:~@!$'()*+;-]{0,500}$/.test(to) ? to : '';
}
