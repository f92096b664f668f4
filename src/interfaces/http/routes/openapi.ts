import type { Client } from '../guards/client-address.ts';
import type { ParameterDocumentation } from '../requests/query.ts';
import type { Route } from '../service/route.ts';
import { errorSchema, type JsonSchema } from '../replies/schemas.ts';

/** The description of the enabled endpoints: https://swagger.io/specification/v2/ */
export function describeApi(routes: readonly Route[], { version, scheme, basePath }: Served): object {
  return {
    swagger: '2.0',
    info: { title: 'Upkeep', version, description: 'Checks for updates, updates containers, and streams events.' },
    basePath: basePath || '/',
    schemes: [scheme],
    consumes: [],
    produces: ['application/json'],
    tags: [...new Set(routes.map(({ group }) => group))].map((name) => ({ name })),
    paths: mergedPaths(routes.flatMap(pathsOf)),
    definitions: { Error: errorSchema },
    securityDefinitions: {
      BearerAuth: token('The API token, without the word Bearer'),
      EventsToken: token('The events token, without the word Bearer'),
    },
  };
}

type Served = {
  readonly version: string;
  readonly scheme: Client['scheme'];
  readonly basePath: string;
};

/** Several routes may share a path, with different methods. */
function mergedPaths(paths: readonly (readonly [string, object])[]): Readonly<Record<string, object>> {
  const merged: Record<string, object> = {};
  for (const [path, operations] of paths) merged[path] = { ...merged[path], ...operations };
  return merged;
}

function token(description: string): object {
  return { type: 'apiKey', in: 'header', name: 'Authorization', description };
}

function pathsOf(route: Route): readonly (readonly [string, object])[] {
  const { path: ownPath, produces = 'application/json', describedAs = { [ownPath]: produces } } = route;
  return Object.entries(describedAs).map(([path, type]) => [
    path,
    Object.fromEntries(route.methods.map((method) => [method.toLowerCase(), operation(route, method, path, type)])),
  ]);
}

function operation(route: Route, method: string, path: string, type: string): object {
  const { group, summary, description, query, access, body } = route;
  const inQuery = Object.entries(query)
    .filter(([, { documentation }]) => documentation.hidden !== true)
    .map(([name, { documentation }]) => parameter(name, documentation));
  const parameters = [...inPath(path), ...inQuery, ...inBody(body)];
  const inUrl = { type: 'string', description: 'The events token, for clients that cannot set headers' } as const;
  return {
    tags: [group],
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-z\d]+(.)?/gi, (_, next = '') => String(next).toUpperCase())}`,
    summary,
    description,
    ...(body !== undefined && { consumes: ['application/json'] }),
    produces: [type],
    parameters: access === 'events token' ? [...parameters, parameter('access_token', inUrl)] : parameters,
    responses: responses(route),
    ...security[access],
  };
}

function inPath(path: string): readonly object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, type: 'string' }));
}

function inBody(body: JsonSchema | undefined): readonly object[] {
  return body === undefined ? [] : [{ name: 'body', in: 'body', required: true, schema: body }];
}

const security: Readonly<Record<Route['access'], object>> = {
  'api token': { security: [{ BearerAuth: [] }] },
  'events token': { security: [{ EventsToken: [] }] },
  open: {},
};

function parameter(name: string, { type, description, format, minimum }: ParameterDocumentation): object {
  const details = { ...(format && { format }), ...(minimum !== undefined && { minimum }) };
  return { name, in: 'query', required: false, type, ...details, description };
}

function responses({ replies, access }: Route): object {
  const own = Object.entries(replies).map(([status, { description, schema }]): readonly [string, object] => [
    status,
    { description, ...(schema !== undefined && { schema }), ...(Number(status) >= 400 && { schema: error }) },
  ]);
  return {
    400: { description: 'The request, or one of its parameters, is malformed', schema: error },
    ...(access !== 'open' && { 401: { description: 'Invalid or missing authentication token', schema: error } }),
    413: { description: 'The request body is larger than 1 MiB', schema: error },
    429: { description: 'Too many requests; without a body' },
    ...Object.fromEntries<object>(own),
  };
}

const error = { $ref: '#/definitions/Error' } as const;
