import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { RequestListener, Server } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { type Authenticate, createAuthentication } from '../guards/auth.ts';
import { errorBody, HttpError, internalError, jsonType, notFound, type Problem, problemOf } from '../replies/errors.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';
import { methodsOf, type Route } from '../service/route.ts';

export type RouterParts = {
  readonly routes: readonly Route[];
  readonly settings: HttpSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the server whose requests are to be routed. */
  readonly createServer: (route: RequestListener) => Server;
};

/** Finds the route of a request, lets those in who may, and turns what goes wrong into a reply. */
export function createRouter({ routes, settings, clock, log, createServer }: RouterParts): FastifyInstance {
  const router = fastify<Server>({
    serverFactory: createServer,
    genReqId: () => '',
    return503OnClosing: false,
    frameworkErrors: (_, __, reply) => void sendProblem(notFound, reply),
  });
  const authenticate = createAuthenticators(settings, log);

  for (const route of routes) {
    const check = authenticate[route.access];
    router.route({
      method: [...methodsOf(route)],
      url: route.path,
      exposeHeadRoute: false,
      schema: { response: serialisedReplies(route) },
      onRequest: (request, _, done) => {
        check(request.raw, request.query as Readonly<Record<string, unknown>>);
        done();
      },
      onSend: (_, reply, payload, done) => {
        if (route.path.startsWith('/v1/')) reply.header('Cache-Control', 'no-store');
        done(null, payload);
      },
      handler: route.answer,
    });
  }
  router.setNotFoundHandler((_, reply) => void sendProblem(notFound, reply));
  router.setErrorHandler((error, _, reply) => {
    const problem = problemOf(error);
    if (problem === undefined) log.error('A request failed for a reason of our own', { error, stack: stackOf(error) });
    sendProblem(problem ?? internalError, reply);
  });
  return router;

  function sendProblem({ status, message, headers = {} }: Problem, reply: FastifyReply) {
    return reply
      .code(status)
      .headers({ ...headers, 'Content-Type': jsonType, 'Cache-Control': 'no-store' })
      .serializer(String)
      .send(errorBody(message, clock.nowMs()));
  }
}

/** A group that needs a token is not switched on without one. */
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

/** Only successes are made by a schema; the others have one body. */
function serialisedReplies({ replies }: Route): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(replies).flatMap(([status, { schema }]) => (schema === undefined ? [] : [[status, schema]])),
  );
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
