import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';
import { type Authenticate, createAuthentication } from '../guards/auth.ts';
import { HttpError, internalError, problemOf, writeProblem } from '../replies/errors.ts';
import { RouteReply } from '../replies/route-reply.ts';
import { parseQuery } from '../requests/query.ts';
import type { Route } from '../service/route.ts';
import type { Found } from './route-table.ts';

export type AnswerParts = { readonly settings: HttpSettings; readonly clock: Clock; readonly log: Log };

/** Answers a request by its route: checks token and query, calls the route, and replies to its errors. */
export type Answer = (request: IncomingMessage, response: ServerResponse, found: Found) => Promise<void>;

export function createAnswer({ settings, clock, log }: AnswerParts): Answer {
  const authenticate = createAuthenticators(settings, log);

  return async (raw, response, { route, rest }) => {
    try {
      const query = parseQuery(raw.url ?? '');
      const tokenName = authenticate[route.access](raw, query);
      const reply = new RouteReply(response, route.path);
      const result = await route.answer({ raw, query, rest, tokenName }, reply);
      if (!(result instanceof RouteReply)) reply.send(result);
    } catch (error) {
      fail(error, response);
    }
  };

  function fail(error: unknown, response: ServerResponse): void {
    const problem = problemOf(error);
    if (problem === undefined)
      log.error('A request failed because of an internal error', { error, stack: stackOf(error) });
    // A reply that has begun can only be aborted.
    if (response.headersSent) response.destroy();
    else writeProblem(response, problem ?? internalError, clock.nowMs());
  }
}

/** Without a token, a group that needs one is off. */
function createAuthenticators(
  { token, eventsToken }: HttpSettings,
  log: Log,
): Readonly<Record<Route['access'], Authenticate>> {
  const refuse: Authenticate = () => {
    throw new HttpError(401, 'no token is configured', { 'WWW-Authenticate': 'Bearer' });
  };
  return {
    'api token': token === undefined ? refuse : createAuthentication({ source: token, inQuery: false, log }),
    'events token':
      eventsToken === undefined ? refuse : createAuthentication({ source: eventsToken, inQuery: true, log }),
    open: () => undefined,
  };
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
