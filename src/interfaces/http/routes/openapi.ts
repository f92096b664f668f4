import { createClientReader, type Client } from '../guards/clients.ts';
import type { ParameterDocumentation } from '../requests/request.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { errorSchema, type JsonSchema } from '../replies/schemas.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpError, jsonType } from '../replies/errors.ts';
import type { HttpParts } from '../service/parts.ts';
import { isJsonObject } from '../../../domain/text/json.ts';

/** The description of the enabled endpoints: https://swagger.io/specification/v2/ */
function describeApi(routes: readonly Route[], { version, scheme, basePath }: Served): object {
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
function describeApi31(routes: readonly Route[], { version, basePath }: Omit<Served, 'scheme'>): object {
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
  return Object.entries(route.describedIn31As ?? Object.fromEntries(describedPaths(route))).map(([path, type]) => [
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
    // Every sender writes JSON, under several media types: generators of clients know this one only.
    ...(maxForeignBytes !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: {} } } },
    }),
    responses: responses31(route, type),
    security: security31[access],
  };
}

function responses31({ replies, access, needs, body, maxForeignBytes }: Route, type: string): object {
  const isKept = body !== undefined || maxForeignBytes !== undefined;
  const all: Route['replies'] = {
    ...commonReplies(access),
    ...(needs !== 'nothing' && { 403: { description: 'The caller has not the role for it, or may see less' } }),
    ...(isKept && {
      413: { description: 'The request body is too large' },
      503: { description: 'Too many request bodies at once' },
    }),
    ...replies,
  };
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

/**
 * `/swagger/*`: the description, and a page to read and try it, with all its files. `enabled` returns the endpoints,
 * once they are known.
 */
export function swaggerRoute({ settings, version, assetsFolder }: HttpParts, enabled: () => readonly Route[]): Route {
  const callerOf = createClientReader(settings);
  const assets = new Map<string, Asset>(Object.entries(ownAssets).map(([name, asset]) => [name, asset]));
  const assetNamed = (name: string): Asset | undefined => {
    const type = copiedAssets.get(name);
    if (!assets.has(name) && type !== undefined) {
      assets.set(name, { type, body: readFileSync(join(assetsFolder, name)) });
    }
    return assets.get(name);
  };

  return defineRoute({
    group: 'swagger',
    path: '/swagger/*',
    describedAs: {
      '/swagger/index.html': 'text/html',
      '/swagger/doc.json': 'application/json',
      '/swagger/doc.yaml': 'application/yaml',
    },
    access: 'open',
    needs: 'nothing',
    filter: 'not concerned',
    answersHead: false,
    summary: 'This description',
    description: 'The page that shows the description, and the description itself as JSON and as YAML.',
    query: {},
    replies: { 200: { description: 'The page, or the description' } },
    answer: ({ request }, reply) => {
      const name = request.rest;
      if (name === '') return reply.redirect('./index.html', 302);
      if (name === 'doc.json' || name === 'doc.yaml') {
        const description = describeApi(enabled(), {
          version,
          scheme: callerOf(request.raw).scheme,
          basePath: settings.basePath,
        });
        return name === 'doc.json'
          ? reply.header('Content-Type', jsonType).send(JSON.stringify(description))
          : reply.header('Content-Type', 'application/yaml; charset=utf-8').send(toYaml(description));
      }
      const asset = assetNamed(name);
      if (asset === undefined) throw new HttpError(404, 'not found');
      return reply
        .headers({ 'Content-Type': asset.type, 'Content-Security-Policy': pagePolicy, 'Cache-Control': 'no-cache' })
        .send(asset.body);
    },
  });
}

/** `GET /v1/openapi.json`: the same description in the newer form, with Upkeep's own parameters. */
export function openApiRoute({ settings, version }: HttpParts, enabled: () => readonly Route[]): Route {
  return defineRoute({
    group: 'swagger',
    path: '/v1/openapi.json',
    // The specification fixes the content of the older description.
    describedAs: {},
    describedIn31As: { '/v1/openapi.json': 'application/json' },
    access: 'open',
    needs: 'nothing',
    filter: 'not concerned',
    summary: 'This description as OpenAPI 3.1',
    description: 'The description as OpenAPI 3.1, with all parameters, for generators of clients.',
    query: {},
    replies: { 200: { description: 'The description' } },
    answer: () => describeApi31(enabled(), { version, basePath: settings.basePath }),
  });
}

type Asset = { readonly type: string; readonly body: string | Buffer };

const css = 'text/css; charset=utf-8';
const javascript = 'text/javascript; charset=utf-8';

/** Of the distribution of Swagger UI: https://swagger.io/docs/open-source-tools/swagger-ui/usage/installation/ */
const copiedAssets: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', css],
  ['swagger-ui-bundle.js', javascript],
  ['favicon-32x32.png', 'image/png'],
]);

/** Swagger UI adds styles to the document. HTTPS is not enforced here, because the page would stay blank without it. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ownAssets: Readonly<Record<string, Asset>> = {
  'index.html': {
    type: 'text/html; charset=utf-8',
    body: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Upkeep: HTTP API</title>
    <link rel="stylesheet" href="swagger-ui.css">
    <link rel="stylesheet" href="page.css">
    <link rel="icon" type="image/png" href="favicon-32x32.png" sizes="32x32">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="swagger-ui-bundle.js"></script>
    <script src="page.js"></script>
  </body>
</html>
`,
  },
  // On a phone, the heading of the replies and the selection of their type do not fit beside each other.
  'page.css': {
    type: css,
    body: `@media (max-width: 640px) {
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; gap: 8px; }
  .swagger-ui .opblock .opblock-section-header > label { flex: 1 0 100%; flex-wrap: wrap; margin: 0; }
  .swagger-ui .opblock .opblock-section-header .execute-content-type { flex: 1 0 180px; }
}
`,
  },
  'page.js': {
    type: javascript,
    body: `// The token is kept over a reload, in this tab only. Swagger UI itself would keep it for ever.
try { localStorage.removeItem('authorized'); } catch {}
Object.defineProperty(window, 'localStorage', { configurable: true, get: () => window.sessionStorage });
// Behind a proxy, the API is beside this page, at an address that the service need not know.
const folder = new URL('..', location.href).pathname;
const besideThisPage = (description) => ({
  ...description,
  schemes: [location.protocol.slice(0, -1)],
  basePath: folder === '/' ? folder : folder.slice(0, -1),
});
SwaggerUIBundle({
  plugins: [
    { statePlugins: { spec: { wrapActions: { updateJsonSpec: (update) => (json) => update(besideThisPage(json)) } } } },
  ],
  url: 'doc.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: true,
  validatorUrl: null,
});
`,
  },
};

/** JSON data as YAML 1.2 in block style. Strings are quoted as in JSON, which is a subset of YAML. */
function toYaml(value: unknown): string {
  return `${lines(value, '').join('\n')}\n`;
}

function lines(value: unknown, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((item) => nested(`${indent}-`, item, indent));
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [indent + JSON.stringify(value)];
  return Object.entries(value).flatMap(([name, item]) => nested(`${indent}${key(name)}:`, item, indent));
}

function nested(start: string, item: unknown, indent: string): readonly string[] {
  const isBlock = (Array.isArray(item) && item.length > 0) || (isJsonObject(item) && Object.keys(item).length > 0);
  return isBlock ? [start, ...lines(item, `${indent}  `)] : [`${start} ${JSON.stringify(item)}`];
}

/** Unquoted numbers, booleans and similar names would not stay text. */
function key(name: string): string {
  return /^[a-zA-Z_$/][\w$/-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : JSON.stringify(name);
}
