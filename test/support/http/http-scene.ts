import { request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { request as requestTls } from 'node:https';
import { createRequire } from 'node:module';
import { gunzipSync } from 'node:zlib';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { endpointGroups, type HttpSettings } from '../../../src/domain/settings/http-settings.ts';
import { listen } from '../../../src/interfaces/http/server/connections.ts';
import type { Service } from '../../../src/interfaces/http/service/parts.ts';
import { createHttpServer, type HttpServer } from '../../../src/interfaces/http/server/server.ts';
import { createTestLog, type LogLine } from '../test-log.ts';

export const apiToken = 'api-token-for-tests';
export const eventsToken = 'events-token-for-tests';
export const webhookSecret = 'webhook-secret-for-tests';

/** A running HTTP interface on a free port, with a client. */
export type HttpScene = {
  readonly url: string;
  readonly port: number;
  readonly http: HttpServer;
  readonly lines: readonly LogLine[];
  /** Sends the API token, unless the options have another one. */
  readonly ask: (target: string, options?: AskOptions) => Promise<Reply>;
  readonly stop: () => Promise<void>;
};

export type AskOptions = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** `null`: no token. */
  readonly token?: string | null;
  readonly body?: string | Buffer;
  readonly chunked?: boolean;
  readonly signal?: AbortSignal;
  readonly localAddress?: string;
};

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The text read as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read any field
  readonly json: () => any;
};

export const testSettings: HttpSettings = {
  host: '127.0.0.1',
  port: 0,
  groups: endpointGroups,
  token: { kind: 'value', value: apiToken },
  eventsToken: { kind: 'value', value: eventsToken },
  webhookSecret: { kind: 'value', value: webhookSecret },
  webhookUpdate: false,
  rateLimit: 1_000_000,
  checkTimeoutMs: 300_000,
  updateTimeoutMs: 600_000,
  tls: undefined,
  trustedProxies: [],
  proxyHeader: 'X-Forwarded-For',
  corsOrigins: [],
  sessionRateLimit: 600,
  passwordFile: undefined,
  madeTokens: [],
  basePath: '',
  watchtowerCompat: false,
  containerMetrics: true,
  people: { viewer: [], operator: [], admin: [] },
  authHeader: undefined,
  oidc: undefined,
};

export type SceneOptions = Partial<Omit<Parameters<typeof createHttpServer>[0], 'settings' | 'service'>> & {
  readonly settings?: Partial<HttpSettings>;
};

export async function startHttp(service: Service, { settings, ...parts }: SceneOptions = {}): Promise<HttpScene> {
  const log = createTestLog();
  const effective = { ...testSettings, ...settings };
  const http = createHttpServer({
    settings: effective,
    service,
    clock: createSystemClock(),
    log,
    version: '1.2.3',
    configuration: () => ({
      config: {
        monitorOnly: false,
        cleanup: true,
        noPull: false,
        noRestart: false,
        rollingRestart: false,
        includeStopped: false,
        includeRestarting: false,
        lifecycleHooks: false,
        labelEnable: false,
        filterDescription: 'All containers',
        scope: '',
      },
      options: [{ name: 'cleanup', value: 'true', source: '--cleanup', given: true, meaning: 'Remove old images' }],
    }),
    runOptions: {
      cleanup: true,
      noRestart: false,
      monitorOnly: false,
      lifecycleHooks: false,
      rollingRestart: false,
      labelTakesPrecedence: false,
      noPull: false,
      runOnce: false,
      useComposeDependsOn: true,
      skipSelfUpdate: false,
      reviveStopped: false,
    },
    metrics: () => Promise.resolve('# HELP up x\n# TYPE up gauge\nup 1\n'),
    assetsFolder: swaggerUi,
    dashboardFolder: builtDashboard,
    ...parts,
  });
  const url = await listen(http.server, effective);
  const port = Number(new URL(url).port);
  return {
    url,
    port,
    http,
    lines: log.lines,
    ask: (target, options) => ask(url, target, options),
    stop: http.stop,
  };
}

/** The source of the files of the documentation page. */
export const swaggerUi = join(
  dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')),
  'static',
);

/** Present after `npm run build`; tests in a browser build their own. */
const builtDashboard = fileURLToPath(new URL('../../../dist/dashboard', import.meta.url));

/** One request on a connection of its own. */
export function ask(base: string, target: string, options: AskOptions = {}): Promise<Reply> {
  const { method = 'GET', headers = {}, token = apiToken, body, chunked = false, signal, localAddress } = options;
  const { protocol, hostname, port } = new URL(base);
  const all: Record<string, string | string[]> = token === null ? {} : { authorization: `Bearer ${token}` };
  for (const [name, value] of Object.entries(headers)) all[name] = typeof value === 'string' ? value : [...value];
  if (chunked) all['transfer-encoding'] = 'chunked';
  else if (body !== undefined) all['content-length'] = String(Buffer.byteLength(body));
  const requestOptions: RequestOptions = {
    method,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    path: target,
    headers: all,
    agent: false,
    ...(signal && { signal }),
    ...(localAddress && { localAddress }),
  };
  return new Promise((resolve, reject) => {
    const made =
      protocol === 'https:' ? requestTls({ ...requestOptions, rejectUnauthorized: false }) : request(requestOptions);
    made.on('error', reject);
    made.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const sent = Buffer.concat(chunks);
        const text = (response.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) });
      });
    });
    made.end(body);
  });
}
