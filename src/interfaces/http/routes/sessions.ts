import type { IncomingMessage } from 'node:http';
import { allRights, formatRights, roles } from '../../../domain/access/rights.ts';
import type { SessionRecord } from '../../../domain/settings/http-settings.ts';
import { replyFields, toTimestamp } from '../../json/timestamps.ts';
import {
  createAttemptLimiter,
  createClientReader,
  foreignPage,
  isFromOwnPage,
  tooManyAttempts,
} from '../guards/clients.ts';
import { HttpError } from '../replies/errors.ts';
import { array, booleanField, object, oneOf, stamped, text, time } from '../replies/schemas.ts';
import { bufferedObject } from '../requests/request.ts';
import type { RouteParts } from './routes.ts';
import { defineRoute, type Route } from '../service/route.ts';

/**
 * Signing in, which is for the page alone, so no description has it; and the lists of signed-in browsers and tokens,
 * which OpenAPI 3.1 has.
 */
export function sessionRoutes(parts: RouteParts): readonly Route[] {
  const { settings, clock, log, browsers: sessions, tokens, revocations } = parts;
  const oidc = parts.openSignIns?.(parts);
  const shared = { group: 'dashboard', describedAs: {}, query: {} } as const;
  const schemeOf = createClientReader(settings);
  const takeAttempt = createAttemptLimiter({ ...maxAttempts, monotonicMs: clock.monotonicMs });
  return [
    defineRoute({
      ...shared,
      path: '/v1/session',
      access: 'open',
      needs: 'nothing',
      filter: 'not concerned',
      summary: 'Whether this browser is signed in',
      description: 'Whether this browser is signed in, and whether there is a password.',
      replies: {
        200: {
          description: 'The state',
          schema: stamped(
            {
              signed_in: booleanField('Whether the cookie of the request is valid'),
              has_password: booleanField('Whether a password is set'),
            },
            {
              issuer: text('The host that people sign in at with OpenID Connect; absent if nobody does'),
              name: text('The name of the person or token that is signed in'),
              role: oneOf(roles, 'Its role'),
              is_limited: booleanField('Whether it sees some containers only'),
              by_proxy: booleanField('Whether the proxy has named it, so that only the proxy can sign it out'),
              failure: text('Why the last sign-in with OpenID Connect failed; told once'),
            },
          ),
        },
      },
      answer: ({ request }) => ({
        signed_in: request.rights !== undefined,
        has_password: sessions.hasPassword(),
        ...(oidc && settings.oidc && { issuer: new URL(settings.oidc.issuer).host }),
        ...(request.rights && {
          ...(request.name !== undefined && { name: request.name }),
          role: request.rights.role,
          is_limited: request.rights.within !== undefined,
          by_proxy: request.sessionId === undefined,
        }),
        failure: oidc?.failureOf(request.raw),
        ...replyFields(clock.nowMs()),
      }),
    }),
    defineRoute({
      ...shared,
      path: '/v1/session',
      methods: ['POST'],
      access: 'open',
      needs: 'nothing',
      filter: 'not concerned',
      summary: 'Sign in',
      description: 'Exchanges a token or a password for the cookie of a session.',
      body: object(
        { secret: text('The API token or the password') },
        { keep: booleanField('Whether the session outlives the browser') },
      ),
      replies: {
        201: { description: 'Signed in', schema: stamped({ id: text('Id of the session') }) },
        401: { description: 'Neither a token nor the password' },
        403: { description: 'The request is not from the page' },
        429: { description: 'Too many attempts' },
      },
      answer: async ({ request: { raw, address } }, reply) => {
        if (!isFromOwnPage(raw)) throw new HttpError(403, foreignPage);
        const body = bufferedObject(raw);
        const secret = typeof body['secret'] === 'string' ? body['secret'].trim() : '';
        if (secret === '' || secret.length > maxSecret)
          throw new HttpError(400, 'invalid field "secret" of the request body: expected a token or a password');
        const { allowed, resetMs } = takeAttempt(address);
        if (!allowed) throw tooManyAttempts(resetMs);
        const signedIn = await sessions.signIn({
          secret,
          isKept: body['keep'] === true,
          isSecure: isSecure(raw, schemeOf(raw).scheme),
          browser: raw.headers['user-agent'] ?? '',
          address,
        });
        if (signedIn === undefined) {
          log.warn('A sign-in to the page failed', { client: address });
          throw new HttpError(401, 'that is neither a token nor the password');
        }
        log.info('A browser has signed in to the page', { client: address });
        reply.code(201).header('Set-Cookie', signedIn.cookie);
        return { id: signedIn.session.id, ...replyFields(clock.nowMs()) };
      },
    }),
    defineRoute({
      ...shared,
      path: '/v1/session',
      methods: ['DELETE'],
      access: 'api token',
      needs: 'viewer',
      filter: 'not concerned',
      summary: 'Sign out',
      description: 'Ends the session of the request.',
      replies: {
        200: {
          description: 'Signed out',
          schema: stamped({ kept: keptField }, { go_to: text('The address that ends the session at the issuer') }),
        },
      },
      answer: async ({ request: { sessionId } }, reply) => {
        const person = sessions.list().find(({ id }) => id === sessionId)?.person;
        const ended = sessionId === undefined ? undefined : await sessions.end(sessionId);
        const goTo = person === undefined || sessionId === undefined ? undefined : await oidc?.endUrl(sessionId);
        reply.header('Set-Cookie', sessions.removal());
        return {
          kept: ended !== 'not-kept',
          ...(goTo !== undefined && { go_to: goTo }),
          ...replyFields(clock.nowMs()),
        };
      },
    }),
    defineRoute({
      ...shared,
      path: '/v1/sessions',
      describedIn31As: { '/v1/sessions': jsonMedia },
      access: 'api token',
      needs: 'admin',
      filter: 'refuses',
      summary: 'List the signed-in browsers',
      description: 'Lists the signed-in browsers.',
      replies: { 200: { description: 'The sessions', schema: stamped({ sessions: array(sessionSchema) }) } },
      answer: ({ request: { sessionId } }) => ({
        sessions: sessions.list().map((session) => entryOf(session, session.id === sessionId)),
        ...replyFields(clock.nowMs()),
      }),
    }),
    defineRoute({
      ...shared,
      path: '/v1/sessions/*',
      describedIn31As: { '/v1/sessions/{id}': jsonMedia },
      methods: ['DELETE'],
      access: 'api token',
      needs: 'admin',
      filter: 'refuses',
      summary: 'Sign a browser out',
      description: 'Ends a session.',
      replies: {
        200: { description: 'Ended', schema: stamped({ kept: keptField }) },
        404: { description: 'There is no session with this id' },
      },
      answer: async ({ request: { rest, caller } }) => {
        const name = sessions.list().find(({ id }) => id === rest)?.by ?? 'a browser';
        const ended = await sessions.end(rest);
        if (ended === undefined) throw new HttpError(404, 'there is no session with this id');
        log.info(`The session of ${name} was ended by ${caller}`);
        return { kept: ended === 'kept', ...replyFields(clock.nowMs()) };
      },
    }),
    defineRoute({
      ...shared,
      path: '/v1/tokens',
      describedIn31As: { '/v1/tokens': jsonMedia },
      access: 'api token',
      needs: 'admin',
      filter: 'refuses',
      summary: 'List the tokens',
      description: 'Lists the tokens by their names, without their values.',
      replies: { 200: { description: 'The tokens', schema: stamped({ tokens: array(tokenSchema) }) } },
      answer: () => ({
        tokens: (['api', 'events'] as const).flatMap((kind) =>
          (tokens[kind]?.().known ?? []).map(({ name, rights = allRights }) => ({
            ...(name !== undefined && { name }),
            kind,
            rights: formatRights(rights),
          })),
        ),
        ...replyFields(clock.nowMs()),
      }),
    }),
    defineRoute({
      ...shared,
      path: '/v1/tokens/*',
      describedIn31As: { '/v1/tokens/{name}': jsonMedia },
      methods: ['DELETE'],
      access: 'api token',
      needs: 'admin',
      filter: 'refuses',
      summary: 'Revoke a token',
      description:
        'Revokes the tokens of a name, although their file still has them. A token without a name can only be replaced in its file.',
      replies: {
        200: { description: 'Revoked', schema: stamped({ kept: keptField }) },
        404: { description: 'There is no token of this name' },
      },
      answer: async ({ request: { rest, caller } }) => {
        const name = decoded(rest);
        const named = [tokens.api, tokens.events]
          .flatMap((known) => known?.().known ?? [])
          .filter((token) => token.name === name);
        if (named.length === 0) throw new HttpError(404, 'there is no token of this name');
        log.info(`The token of ${name} was revoked by ${caller}`);
        return { kept: (await revocations.revoke(named)) === 'kept', ...replyFields(clock.nowMs()) };
      },
    }),
    ...(oidc?.routes ?? []),
  ];
}

const jsonMedia = 'application/json';

/** The path is decoded already, except for the letters that separate its parts. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const tokenSchema = object(
  {
    kind: oneOf(['api', 'events'], 'The endpoints that it opens'),
    rights: text('Its role and filter, as its file has them'),
  },
  { name: text('Its name') },
);

/** In a minute. `ofAll` bounds the log, which has a line for each failure. */
const maxAttempts = { ofClient: 10, ofAll: 100 };

/** Characters; a password is hashed, which takes longer for a longer one. */
const maxSecret = 1000;

const keptField = booleanField('Whether it stays so after a restart');

const sessionSchema = object(
  {
    id: text('Id of the session'),
    browser: text('Name that the browser gives itself'),
    address: text('The address that it signed in from'),
    since: time('When it signed in'),
    used_at: time('When it was last seen'),
    is_this: booleanField('Whether it is the session of the request'),
  },
  { by: text('The name of its token, or password') },
);

function entryOf({ id, browser, address, sinceMs, usedMs, by }: SessionRecord, isThis: boolean) {
  return {
    id,
    browser,
    address,
    since: toTimestamp(sinceMs),
    used_at: toTimestamp(usedMs),
    is_this: isThis,
    ...(by !== undefined && { by }),
  };
}

/** A proxy that is not trusted may have ended TLS: then only the page's origin tells of it. */
function isSecure({ headers: { origin = '' } }: IncomingMessage, scheme: 'http' | 'https'): boolean {
  return scheme === 'https' || origin.startsWith('https://');
}
