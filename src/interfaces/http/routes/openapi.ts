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
      WebhookSecret: token('The secret of webhooks, without the word Bearer'),
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
  return describedPaths(route).map(([path, type]) => [
    path,
    Object.fromEntries(route.methods.map((method) => [method.toLowerCase(), operation(route, method, path, type)])),
  ]);
}

/** Each path with the media type of its replies. */
function describedPaths({ path, produces = 'application/json', describedAs = { [path]: produces } }: Route) {
  return Object.entries(describedAs);
}

function operationId(method: string, path: string): string {
  const words = path.replaceAll(/[^a-z\d]+(.)?/gi, (_, next = '') => String(next).toUpperCase());
  return `${method.toLowerCase()}${words}`;
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
    operationId: operationId(method, path),
    summary,
    description,
    ...(body !== undefined && { consumes: ['application/json'] }),
    produces: [type],
    parameters: access === 'events token' ? [...parameters, parameter('access_token', inUrl)] : parameters,
    responses: responses(route),
    ...security[access],
  };
}

function inPath(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, type: 'string' }));
}

function inBody(body: JsonSchema | undefined): readonly object[] {
  return body === undefined ? [] : [{ name: 'body', in: 'body', required: true, schema: body }];
}

const security: Readonly<Record<Route['access'], object>> = {
  'api token': { security: [{ BearerAuth: [] }] },
  'api token or password': { security: [{ BearerAuth: [] }] },
  'events token': { security: [{ EventsToken: [] }] },
  'webhook secret': { security: [{ WebhookSecret: [] }] },
  open: {},
};

function parameter(name: string, { type, description, format, minimum }: ParameterDocumentation): object {
  const details = { ...(format && { format }), ...(minimum !== undefined && { minimum }) };
  return { name, in: 'query', required: false, type, ...details, description };
}

function responses({ replies, access }: Route): object {
  const describe = (known: Route['replies'], isOwn: boolean) =>
    Object.entries(known).map(([status, { description, schema }]): readonly [string, object] => {
      const isError = Number(status) >= 400 && (isOwn || status !== '429');
      return [status, { description, ...(schema !== undefined && { schema }), ...(isError && { schema: error }) }];
    });
  return Object.fromEntries([...describe(commonReplies(access), false), ...describe(replies, true)]);
}

/** Replies of every route. */
function commonReplies(access: Route['access']): Route['replies'] {
  return {
    400: { description: 'The request, or one of its parameters, is malformed' },
    ...(access !== 'open' && { 401: { description: 'Invalid or missing authentication token' } }),
    413: { description: 'The request body is larger than 1 MiB' },
    429: { description: 'Too many requests; without a body' },
  };
}

const error = { $ref: '#/definitions/Error' } as const;

/**
 * The same as OpenAPI 3.1, with all parameters, for generators of clients:
 * https://spec.openapis.org/oas/v3.1.0
 */
export function describeApi31(routes: readonly Route[], { version, basePath }: Omit<Served, 'scheme'>): object {
  const groups = [...new Set(routes.map(({ group }) => group))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Upkeep',
      version,
      description: 'Checks for updates, updates containers, and streams events.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: basePath || '/', description: 'This service' }],
    tags: groups.map((name) => ({ name, description: `The group ${name} of --http-api-endpoints` })),
    paths: mergedPaths(routes.flatMap(pathsOf31)),
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        ApiToken: { type: 'http', scheme: 'bearer', description: 'The API token' },
        ApiTokenBehindProxy: secondHeader('The API token, where a proxy takes Authorization'),
        EventsToken: { type: 'http', scheme: 'bearer', description: 'The events token' },
        EventsTokenBehindProxy: secondHeader('The events token, where a proxy takes Authorization'),
        EventsTokenInUrl: {
          type: 'apiKey',
          in: 'query',
          name: 'access_token',
          description: 'The events token, for clients that cannot set headers',
        },
        ApiTokenAsPassword: { type: 'http', scheme: 'basic', description: 'The API token as the password' },
        WebhookSecret: { type: 'http', scheme: 'bearer', description: 'The secret of webhooks' },
        WebhookSecretInUrl: {
          type: 'apiKey',
          in: 'query',
          name: 'token',
          description: 'The secret of webhooks, for registries that send no header',
        },
        ...Object.fromEntries(
          signatures.map(([name, header]) => [
            name,
            {
              type: 'apiKey',
              in: 'header',
              name: header,
              description: 'The secret of webhooks, or the HMAC of the body with it',
            },
          ]),
        ),
      },
    },
  };
}

function secondHeader(description: string): object {
  return { type: 'apiKey', in: 'header', name: 'X-Upkeep-Token', description };
}

const signatures = [
  ['GitHubSignature', 'X-Hub-Signature-256'],
  ['GiteaSignature', 'X-Gitea-Signature'],
  ['ForgejoSignature', 'X-Forgejo-Signature'],
  ['NexusSignature', 'X-Nexus-Webhook-Signature'],
  ['ArtifactorySignature', 'X-JFrog-Event-Auth'],
  ['GitLabSecret', 'X-Gitlab-Token'],
] as const;

const security31: Readonly<Record<Route['access'], readonly object[]>> = {
  'api token': [{ ApiToken: [] }, { ApiTokenBehindProxy: [] }],
  'api token or password': [{ ApiToken: [] }, { ApiTokenBehindProxy: [] }, { ApiTokenAsPassword: [] }],
  'events token': [{ EventsToken: [] }, { EventsTokenBehindProxy: [] }, { EventsTokenInUrl: [] }],
  'webhook secret': [
    { WebhookSecret: [] },
    { WebhookSecretInUrl: [] },
    ...signatures.map(([name]) => ({ [name]: [] })),
  ],
  open: [],
};

function pathsOf31(route: Route): readonly (readonly [string, object])[] {
  return describedPaths(route).map(([path, type]) => [
    path,
    Object.fromEntries(route.methods.map((method) => [method.toLowerCase(), operation31(route, method, path, type)])),
  ]);
}

function operation31(route: Route, method: string, path: string, type: string): object {
  const { group, summary, description, query, access, body, maxForeignBytes } = route;
  const inQuery = Object.entries(query).map(([name, { documentation }]) => {
    const { type: kind, description: meaning, hidden: _, required = false, ...bounds } = documentation;
    return { name, in: 'query', required, description: meaning, schema: { type: kind, ...bounds } };
  });
  const parts = inPath(path).map(({ name }) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return {
    tags: [group],
    operationId: operationId(method, path),
    summary,
    description,
    parameters: [...parts, ...inQuery],
    ...(body !== undefined && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    ...(maxForeignBytes !== undefined && { requestBody: { required: true, content: { '*/*': { schema: {} } } } }),
    responses: responses31(route, type),
    security: security31[access],
  };
}

function responses31({ replies, access }: Route, type: string): object {
  const all = { ...commonReplies(access), ...replies };
  return Object.fromEntries<object>(
    Object.entries(all).map(([status, { description, schema }]): [string, object] => {
      // The rate limit's reply has no body.
      if (Number(status) >= 400)
        return [status, { description, ...(status !== '429' || 429 in replies ? { content: errorContent } : {}) }];
      if (Number(status) >= 300 || status === '204') return [status, { description }];
      return [status, { description, content: { [type]: { schema: schema ?? schemaOf(type) } } }];
    }),
  );
}

function schemaOf(type: string): object {
  return { type: type === 'application/json' ? 'object' : 'string' };
}

const errorContent = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
