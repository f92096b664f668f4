import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse as readYaml } from 'yaml';
import { endpointGroups } from '../../../src/domain/settings/http-settings.ts';
import { type HttpScene, startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';

let scene: HttpScene;
beforeAll(async () => {
  scene = await startHttp(createScriptedService());
});
afterAll(() => scene.stop());

const paths = {
  update: ['/v1/update', '/v1/rollback'],
  check: ['/v1/check'],
  containers: ['/v1/containers', '/v1/containers/details', '/v1/notes'],
  history: ['/v1/history'],
  decisions: ['/v1/decisions', '/v1/decisions/{id}'],
  images: ['/v1/images'],
  config: ['/v1/config'],
  events: ['/v1/events'],
  metrics: ['/v1/status', '/v1/metrics', '/v1/metrics/notifications'],
  dashboard: [],
  compat: ['/api/containers', '/api/v3/json'],
  webhooks: ['/v1/hooks/registry'],
  swagger: ['/swagger/index.html', '/swagger/doc.json', '/swagger/doc.yaml'],
  health: ['/livez', '/readyz', '/startupz'],
} as const;

const describedBy = async (target = '/swagger/doc.json') => (await scene.ask(target, { token: null })).json();

describe('the description', () => {
  test('is OpenAPI 2.0', async () => {
    const description = await describedBy();
    expect(description).toMatchObject({ swagger: '2.0', info: { title: 'Upkeep', version: '1.2.3' }, basePath: '/' });
    for (const [path, operations] of Object.entries(description.paths as Record<string, Record<string, Operation>>)) {
      expect(path).toMatch(/^\//);
      for (const { operationId, summary, tags, parameters, responses } of Object.values(operations)) {
        expect([operationId, summary, tags[0]]).toEqual([
          expect.stringMatching(/^[a-zA-Z\d]+$/),
          expect.stringMatching(/\S/),
          expect.any(String),
        ]);
        for (const parameter of parameters) {
          if (path.startsWith('/v1/decisions')) expect(parameter).toMatchObject({ required: true });
          else
            expect(parameter).toMatchObject({ in: 'query', required: false, description: expect.stringMatching(/\S/) });
        }
        expect(Object.keys(responses).every((status) => /^\d{3}$/.test(status))).toBe(true);
        expect(Object.values(responses).every((response) => response.description !== '')).toBe(true);
      }
    }
    const ids = Object.values(description.paths as Record<string, Record<string, Operation>>).flatMap((operations) =>
      Object.values(operations).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is the same as JSON and as YAML', async () => {
    const yaml = await scene.ask('/swagger/doc.yaml', { token: null });
    expect(yaml.headers['content-type']).toBe('application/yaml; charset=utf-8');
    expect(readYaml(yaml.text)).toEqual(await describedBy());
    expect((await scene.ask('/swagger/doc.json')).headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test.each(endpointGroups)('with the group %s alone and itself, tells of that alone', async (group) => {
    const { ask, stop } = await startHttp(createScriptedService(), { settings: { groups: [group, 'swagger'] } });
    const description = (await ask('/swagger/doc.json')).json();
    expect(Object.keys(description.paths).sort()).toEqual([...new Set([...paths[group], ...paths.swagger])].sort());
    await stop();
  });

  test('has the parameters of an update that are promised, and no others', async () => {
    const { parameters } = (await describedBy()).paths['/v1/update'].post;
    expect(parameters.map(({ name, type, required }: Parameter) => [name, type, required])).toEqual([
      ['image', 'string', false],
      ['container', 'string', false],
      ['async', 'boolean', false],
    ]);
  });

  test.each([
    ['/v1/check', 'post', ['image', 'container', 'timeout']],
    ['/v1/containers', 'get', ['name', 'image']],
    ['/v1/containers/details', 'get', ['name', 'image']],
    ['/v1/history', 'get', ['since', 'until', 'limit']],
    ['/v1/images', 'get', ['name', 'id']],
    ['/v1/notes', 'get', ['container', 'full']],
    ['/v1/config', 'get', []],
    ['/v1/status', 'get', []],
    ['/v1/metrics', 'get', []],
    ['/v1/events', 'get', ['access_token']],
    ['/livez', 'get', []],
  ])('of %s has the parameters of %s: %j', async (path, method, expected) => {
    const { parameters } = (await describedBy()).paths[path][method];
    expect(parameters.map(({ name }: Parameter) => name)).toEqual(expected);
  });

  test.each([
    ['/v1/update', 'post', ['200', '202', '400', '401', '408', '413', '429', '500', '503']],
    ['/v1/check', 'post', ['200', '400', '401', '408', '413', '429', '500', '503']],
    ['/v1/containers', 'get', ['200', '400', '401', '413', '429', '500', '503']],
    ['/v1/images', 'get', ['200', '400', '401', '413', '429', '500', '503']],
    ['/v1/notes', 'get', ['200', '400', '401', '404', '413', '429']],
    ['/v1/history', 'get', ['200', '400', '401', '413', '429', '500']],
    ['/v1/events', 'get', ['200', '400', '401', '403', '413', '429', '503']],
    ['/readyz', 'get', ['200', '400', '413', '429', '503']],
  ])('of %s has the replies of %s: %j', async (path, method, expected) => {
    expect(Object.keys((await describedBy()).paths[path][method].responses)).toEqual(expected);
  });

  test('of every path has the media type of its reply', async () => {
    for (const [path, { get }] of Object.entries((await describedBy()).paths as Record<string, Paths>)) {
      if (get === undefined || path === '/v1/events') continue;
      const type = String((await scene.ask(`${path}?extra=true`)).headers['content-type']);
      expect([path, get.produces]).toEqual([path, [type.replace(/;.*/, '')]]);
    }
  });

  test('has two keys, each a value for the Authorization header as it is', async () => {
    const { securityDefinitions, paths: described } = await describedBy();
    for (const name of ['BearerAuth', 'EventsToken']) {
      expect(securityDefinitions[name]).toMatchObject({ type: 'apiKey', in: 'header', name: 'Authorization' });
    }
    expect(described['/v1/containers'].get.security).toEqual([{ BearerAuth: [] }]);
    expect(described['/v1/events'].get.security).toEqual([{ EventsToken: [] }]);
    expect(described['/livez'].get.security).toBeUndefined();
  });

  test('says that the stream of events never completes', async () => {
    expect((await describedBy()).paths['/v1/events'].get.description).toMatch(/never completes/);
  });

  test.each([
    [[], undefined, ['http']],
    [[], 'https', ['http']],
    [['127.0.0.1'], 'https', ['https']],
    [['127.0.0.1'], 'http', ['http']],
    [['127.0.0.1'], 'gopher', ['http']],
    [['10.0.0.0/8'], 'https', ['http']],
  ])('with the proxies %j and X-Forwarded-Proto %s has the schemes %j', async (trustedProxies, proto, expected) => {
    const { ask, stop } = await startHttp(createScriptedService(), { settings: { trustedProxies } });
    const headers = proto === undefined ? {} : { 'x-forwarded-proto': proto };
    expect((await ask('/swagger/doc.json', { headers })).json().schemes).toEqual(expected);
    await stop();
  });
});

describe('the page', () => {
  test('comes without a token, under a strict policy that works without TLS', async () => {
    const { status, headers, text } = await scene.ask('/swagger/index.html', { token: null });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/upgrade-insecure-requests|unsafe-eval|script-src[^;]*unsafe-inline|https:|\*/);
    expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  });

  test('has all that it needs from here', async () => {
    const { text } = await scene.ask('/swagger/index.html', { token: null });
    const assets = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, asset]) => asset);
    expect(assets.length).toBeGreaterThan(2);
    for (const asset of assets) {
      const { status, headers } = await scene.ask(`/swagger/${asset}`, { token: null });
      expect([asset, status]).toEqual([asset, 200]);
      expect(headers['content-type']).toMatch(/^(?:text\/(?:css|javascript)|image\/png)/);
    }
  });

  test('keeps what was entered over a reload', async () => {
    expect((await scene.ask('/swagger/page.js')).text).toContain('persistAuthorization: true');
  });

  test('/swagger/ leads to it, /swagger is unknown', async () => {
    const { status, headers } = await scene.ask('/swagger/', { token: null });
    expect([status, headers['location']]).toEqual([302, './index.html']);
    expect((await scene.ask('/swagger', { token: null })).status).toBe(404);
  });
});

type Parameter = { readonly name: string; readonly type: string; readonly required: boolean };

type Paths = { readonly get?: Operation };

type Operation = {
  readonly produces: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
};
