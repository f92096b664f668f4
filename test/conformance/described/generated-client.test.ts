import { execFile, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { apiToken, eventsToken, type HttpScene, startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';
import { type Json, type Operation, operationsOf } from './described.ts';

const clients = fileURLToPath(new URL('../../clients/', import.meta.url));

let scene: HttpScene;
let document: Json;
beforeAll(async () => {
  scene = await startHttp({ ...createScriptedService(), engines: () => [] });
  document = (await scene.ask('/v1/openapi.json', { token: null })).json();
});
afterAll(() => scene.stop());

const operations = (): readonly Operation[] => operationsOf(document);

const old = async (): Promise<Json> => (await scene.ask('/swagger/doc.json', { token: null })).json();

describe('the description as OpenAPI 3.1', () => {
  test('has the operations of the other one, with the same ids, and those that only Upkeep has', async () => {
    const [newer, older] = [document, await old()].map((each) =>
      operationsOf(each).map(({ method, path, described }) => `${method} ${path} ${described['operationId']}`),
    );
    expect(newer).toEqual(expect.arrayContaining(older ?? []));
    expect(newer?.filter((one) => !older?.includes(one))).toEqual([
      'GET /v1/openapi.json getV1OpenapiJson',
      'GET /v1/sessions getV1Sessions',
      'DELETE /v1/sessions/{id} deleteV1SessionsId',
      'GET /v1/tokens getV1Tokens',
      'DELETE /v1/tokens/{name} deleteV1TokensName',
    ]);
    expect(document['openapi']).toBe('3.1.0');
  });

  test('leaves out no route that a program may call', () => {
    const described = new Set(operations().map(({ method, path }) => `${method} ${path.replace(/\{.*/, '')}`));
    const left = scene.http.routes.flatMap(({ path, methods }) =>
      methods.map((method) => `${method} ${path.replace('*', '')}`).filter((one) => !described.has(one)),
    );
    // The page with its sign-in, and cards of other programs.
    expect(left).toEqual([
      'GET /api/containers/',
      'POST /api/containers/',
      'GET /swagger/',
      'GET /',
      'GET /dashboard/',
      'GET /v1/session',
      'POST /v1/session',
      'DELETE /v1/session',
    ]);
  });

  test("has Upkeep's own parameters, which the other one leaves out, and says which are needed", () => {
    const parametersOf = (path: string, method: string): readonly Json[] => document['paths'][path][method].parameters;
    expect(parametersOf('/v1/update', 'post').map(({ name }) => name)).toEqual(
      expect.arrayContaining(['image', 'container', 'async', 'timeout', 'dry_run', 'now', 'approved', 'retry_failed']),
    );
    const needed = operations().flatMap(({ path, described }) =>
      (described['parameters'] as readonly Json[]).flatMap(({ name, required }) => (required ? `${path} ${name}` : [])),
    );
    expect(needed).toEqual([
      ...['/v1/rollback container', '/v1/decisions/{id} id'],
      ...['/v1/sessions/{id} id', '/v1/tokens/{name} name'],
    ]);
  });

  test('every operation says who may call it, and every error of the API is JSON', () => {
    for (const { path, described } of operations()) {
      expect(described['security'], path).toBeInstanceOf(Array);
      expect(described['security'].length > 0, path).toBe(/^\/(?:v1|api)\/(?!openapi)/.test(path));
      for (const [status, { content }] of Object.entries(described['responses'] as Json))
        if (Number(status) >= 400 && content !== undefined) expect(Object.keys(content)).toEqual(['application/json']);
    }
  });

  test.each(['containers', 'events'] as const)(
    'with %s alone and its own group describes that alone',
    async (group) => {
      const few = await startHttp(createScriptedService(), { settings: { groups: [group, 'swagger'] } });
      const { paths } = (await few.ask('/v1/openapi.json', { token: null })).json();
      const groups = new Set(
        Object.values<Json>(paths).flatMap((each) => Object.values<Json>(each).map(({ tags }) => tags[0])),
      );
      expect(groups).toEqual(new Set([group, 'swagger']));
      await few.stop();
      const without = await startHttp(createScriptedService(), { settings: { groups: [group] } });
      expect((await without.ask('/v1/openapi.json')).status).toBe(404);
      await without.stop();
    },
  );
});

const isInstalled = existsSync(join(clients, 'node_modules/openapi-typescript'));
if (!isInstalled && process.env['CI'] === 'true') throw new Error('missing: npm ci --prefix test/clients');

describe.skipIf(!isInstalled)('a client that openapi-typescript has generated', () => {
  test('compiles, calls every route, and gets what is described', async () => {
    const folder = mkdtempSync(join(clients, 'node_modules/.generated-'));
    try {
      const run = (program: string, args: readonly string[]): void => {
        const command = [join(clients, 'node_modules', program), ...args];
        const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' });
        if (status !== 0) throw new Error(`${program}: ${stdout}${stderr}`);
      };
      writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
      run('openapi-typescript/bin/cli.js', ['openapi.json', '--output', 'api.ts']);
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      writeFileSync(join(folder, 'every-route.ts'), programFor(operations()));
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['every-route.ts'] }));
      run('typescript/bin/tsc', []);
      const answers = JSON.parse(
        await inBackground(process.execPath, [join(folder, 'out/every-route.js')], {
          BASE: scene.url,
          API_TOKEN: apiToken,
          EVENTS_TOKEN: eventsToken,
        }),
      ) as readonly Answered[];
      expect(answers.map(({ operation }) => operation)).toEqual(
        operations().map(({ method, path }) => `${method} ${path}`),
      );
      for (const [at, answer] of answers.entries()) expectDescribed(operations()[at]?.described ?? {}, answer);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe.skipIf(!isInstalled)('the linter of Redocly, which comes with that generator', () => {
  test('has no error and no warning', async () => {
    const { createConfig, lintFromString } = createRequire(join(clients, 'package.json'))('@redocly/openapi-core') as {
      readonly createConfig: (given: object) => Promise<object>;
      readonly lintFromString: (given: object) => Promise<readonly Json[]>;
    };
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config });
    const told = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
    expect(told).toEqual([]);
  });
});

const compilerOptions = {
  strict: true,
  target: 'es2022',
  lib: ['es2023', 'dom'],
  module: 'nodenext',
  skipLibCheck: true,
  types: [],
  outDir: 'out',
};

const hasPerlClient = existsSync('/usr/share/perl5/OpenAPI/Client.pm');
if (!hasPerlClient && process.env['CI'] === 'true') throw new Error('missing: libopenapi-client-perl');

/** https://metacpan.org/pod/OpenAPI::Client makes a method of each operation, and checks what it is given. */
describe.skipIf(!hasPerlClient)('a client that OpenAPI::Client of Perl has made', () => {
  test('calls every route, and gets what is described', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-client-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    // It reads 3.1 only with a schema from the network; what differs is the license.
    const { identifier: _, ...license } = document['info'].license;
    const older = { ...document, openapi: '3.0.3', info: { ...document['info'], license } };
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(older));
    writeFileSync(join(folder, 'every-route.pl'), perlProgram);
    const calls = callsOf(operations());
    const env = { DOCUMENT: join(folder, 'openapi.json'), BASE: scene.url, CALLS: JSON.stringify(calls) };
    const answers = JSON.parse(await inBackground('perl', [join(folder, 'every-route.pl')], env)) as Answered[];
    expect(answers.map(({ operation }) => operation)).toEqual(calls.map(({ operation }) => operation));
    for (const [at, answer] of answers.entries()) expectDescribed(operations()[at]?.described ?? {}, answer);
  });
});

const httpx = '/usr/lib/python3/dist-packages/httpx/__init__.py';
if (!existsSync(httpx) && process.env['CI'] === 'true') throw new Error('missing: python3-httpx');

/**
 * openapi-python-client is no package of npm or Debian. Its clients call httpx, so their requests are made again with it
 * as their code makes them: `_get_kwargs` of endpoint_module.py.jinja, `query_params` of endpoint_macros.py.jinja, and
 * client.py.jinja, in
 * https://github.com/openapi-generators/openapi-python-client/tree/main/openapi_python_client/templates
 */
describe.skipIf(!existsSync(httpx))('the requests of a client that openapi-python-client generates', () => {
  test('reach every route, with its types of parameters, and get what is described', async () => {
    const calls = callsOf(operations());
    const answered = await inBackground('/usr/bin/python3', ['-c', pythonProgram], {
      BASE: scene.url,
      CALLS: JSON.stringify(calls),
    });
    const answers = JSON.parse(answered) as Answered[];
    expect(answers.map(({ operation }) => operation)).toEqual(calls.map(({ operation }) => operation));
    for (const [at, answer] of answers.entries()) expectDescribed(operations()[at]?.described ?? {}, answer);
    const update = answers.find(({ operation }) => operation === 'POST /v1/update');
    expect(update?.data).toMatchObject({ dry_run: true });
  });
});

type Call = {
  readonly operation: string;
  readonly id: string;
  readonly token: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly body?: object;
};

/** One call of each operation, with the parameters that it needs. */
function callsOf(all: readonly Operation[]): readonly Call[] {
  return all.map(({ method, path, described }) => ({
    operation: `${method} ${path}`,
    id: described['operationId'],
    token: path === '/v1/events' ? eventsToken : apiToken,
    parameters: Object.fromEntries(
      (described['parameters'] as readonly Json[]).flatMap(({ name, required }) => (required ? [[name, 'web']] : [])),
    ),
    ...(described['requestBody'] && { body: aBody }),
  }));
}

const aBody = { container: 'web', decision: 'skip', digest: `sha256:${'0'.repeat(64)}` };

/** `True` is a boolean of the client's own caller; what he leaves out is `None` here. */
const pythonProgram = `
import json, os, re
from urllib.parse import quote
import httpx
answers = []
for call in json.loads(os.environ["CALLS"]):
    method, path = call["operation"].split(" ")
    given = dict(call["parameters"])
    in_path = {name: given.pop(name) for name in re.findall(r"\\{(\\w+)\\}", path)}
    params = {**given, "dry_run": True, "timeout": None} if path == "/v1/update" else given
    kwargs = {
        "method": method.lower(),
        "url": path.format(**{name: quote(str(value), safe="") for name, value in in_path.items()}),
        "params": {name: value for name, value in params.items() if value is not None},
    }
    if "body" in call:
        kwargs["json"] = call["body"]
        kwargs["headers"] = {"Content-Type": "application/json"}
    headers = {"Authorization": "Bearer " + call["token"]}
    with httpx.Client(base_url=os.environ["BASE"], headers=headers, timeout=20) as client:
        # The stream of events has no end.
        with client.stream(**kwargs) as response:
            kind = response.headers.get("content-type", "")
            if "event-stream" not in kind:
                response.read()
            data = response.json() if "json" in kind else None
    answers.append({"operation": call["operation"], "status": response.status_code, "type": kind, "data": data})
print(json.dumps(answers))
`;

/** The stream of events has no end, so that its answer is what has come until the client gives up. */
const perlProgram = `use Mojo::Base -strict;
use Mojo::JSON qw(decode_json encode_json);
use OpenAPI::Client;
my $client = OpenAPI::Client->new("file://$ENV{DOCUMENT}", base_url => $ENV{BASE});
$client->ua->max_redirects(0);
my ($token, @answers);
$client->on(after_build_tx => sub { $_[1]->req->headers->authorization("Bearer $token") });
for my $call (@{decode_json $ENV{CALLS}}) {
  my $id = $call->{id};
  $token = $call->{token};
  $client->ua->inactivity_timeout($id eq 'getV1Events' ? 1 : 20);
  my $tx = $client->$id($call->{parameters}, $call->{body} ? (json => $call->{body}) : ());
  my $type = $tx->res->headers->content_type // '';
  my $data = $type =~ /json/ ? $tx->res->json : undef;
  push @answers, {operation => $call->{operation}, status => $tx->res->code, type => $type, data => $data};
}
print encode_json \\@answers;
`;

type Answered = { readonly operation: string; readonly status: number; readonly type: string; readonly data: unknown };

function expectDescribed(described: Json, { operation, status, type, data }: Answered): void {
  const reply = described['responses'][status];
  expect(reply, `${operation}: ${status}`).toBeDefined();
  const [media] = Object.keys(reply.content ?? {});
  if (media === undefined) return;
  expect(type.split(';')[0], operation).toBe(media);
  if (media !== 'application/json') return;
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } });
  const validate = ajv.compile({ ...reply.content[media].schema, components: document['components'] });
  validate(data);
  expect(validate.errors ?? [], operation).toEqual([]);
}

/** This process is the server, so it must not block while the program runs. */
function inBackground(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stderr)),
    );
  });
}

/** A call of each operation. The compiler checks the names, the needed parameters and the fields of the replies. */
function programFor(all: readonly Operation[]): string {
  const calls = all.map(({ method, path, described }) => {
    const parameters = described['parameters'] as readonly Json[];
    const given = (place: string): string =>
      parameters.flatMap(({ name, in: at, required }) => (at === place && required ? `${name}: 'web'` : [])).join(', ');
    const groups = ['query', 'path'].flatMap((place) => (given(place) === '' ? [] : `${place}: { ${given(place)} }`));
    const options = [
      ...(groups.length > 0 ? [`params: { ${groups.join(', ')} }`] : []),
      ...(described['requestBody'] === undefined
        ? []
        : [`body: { container: 'web', decision: 'skip', digest: '${aBody.digest}' }`]),
      `parseAs: 'stream'`,
      ...(path === '/v1/events' ? ['headers: eventsHeaders'] : []),
    ];
    return `await tell('${method} ${path}', client.${method}('${path}', { ${options.join(', ')} }));`;
  });
  return `import createClient from 'openapi-fetch';
import type { paths } from './api.js';
declare const process: { env: Record<string, string>; stdout: { write: (text: string) => void } };
const { BASE = '', API_TOKEN, EVENTS_TOKEN } = process.env;
const client = createClient<paths>({ baseUrl: BASE, headers: { Authorization: \`Bearer \${API_TOKEN}\` } });
const eventsHeaders = { Authorization: \`Bearer \${EVENTS_TOKEN}\` };
const answers: unknown[] = [];
async function tell(operation: string, call: Promise<{ response: Response; data?: unknown; error?: unknown }>) {
  const { response, data, error } = await call;
  const type = response.headers.get('content-type') ?? '';
  const stream = data as ReadableStream<Uint8Array> | null | undefined;
  const isJson = type.includes('json');
  const read = isJson && stream ? await new Response(stream).json() : (await stream?.cancel(), error);
  answers.push({ operation, status: response.status, type, data: read });
}
${calls.join('\n')}
const update = await client.POST('/v1/update', { params: { query: { dry_run: true, container: 'web', timeout: '30s' } } });
if (update.data && 'plan' in update.data) update.data.plan?.[0]?.because satisfies string | undefined;
update.error satisfies { error: string; api_version: 'v1'; timestamp: string } | undefined;
// @ts-expect-error The name of the container is needed.
const needs = () => client.POST('/v1/rollback', {});
// @ts-expect-error There is no such parameter.
const none = () => client.POST('/v1/update', { params: { query: { dryRun: true } } });
void [needs, none];
process.stdout.write(JSON.stringify(answers));
`;
}
