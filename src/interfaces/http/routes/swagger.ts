import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClientReader } from '../guards/client-address.ts';
import { HttpError, jsonType } from '../replies/errors.ts';
import { describeApi, describeApi31 } from './openapi.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { toYaml } from '../replies/yaml.ts';

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
    access: 'open',
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
