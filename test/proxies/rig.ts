import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from 'vitest';

/** Reverse proxies of Debian: test/lab/install.mjs. */
export const proxyNames = ['nginx', 'caddy', 'haproxy', 'apache'] as const;
export type ProxyName = (typeof proxyNames)[number];

const programs: Readonly<Record<ProxyName, string>> = {
  nginx: '/usr/sbin/nginx',
  caddy: '/usr/bin/caddy',
  haproxy: '/usr/sbin/haproxy',
  apache: '/usr/sbin/apache2',
};

/** Without the proxies, fails in CI and is skipped elsewhere with a notice. */
export const describeWithProxies = Object.values(programs).every(existsSync) ? describe : describeWithout();

function describeWithout() {
  if (process.env['CI'] === 'true')
    throw new Error(`a reverse proxy is missing: ${Object.values(programs).join(', ')}`);
  console.log('NOTICE: tests with reverse proxies are skipped: nginx, caddy, haproxy or apache2 is missing');
  return describe.skip;
}

/** The ways in which docs/reverse-proxies.md configures each proxy. */
export type Way = 'own-host' | 'sub-path' | 'base-path' | 'basic-auth' | 'sign-on';

/** A proxy with an example of the documentation, in front of a service. */
export type RunningProxy = { readonly url: string; readonly [Symbol.asyncDispose]: () => Promise<void> };

export type Behind = { readonly service: number; readonly signOn: SignOn };

export const person = { name: 'anna', password: 'passwort-1' } as const;

export async function startProxy(name: ProxyName, way: Way, behind: Behind): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-proxy-'));
  const port = await freePort();
  const files = writeFiles(folder);
  const { config, args } = setups[name](way, { folder, port, ...files });
  const path = join(folder, 'config');
  writeFileSync(path, withAddresses(config, { name, way, port, behind, folder }));
  const child = spawn(programs[name], args(path), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-5000)));
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const failed = ended.then(() => {
    const errors = join(folder, 'error.log');
    if (existsSync(errors)) said += readFileSync(errors, 'utf8');
    throw new Error(`${name} has ended: ${said}`);
  });
  failed.catch(() => undefined);
  await Promise.race([failed, listening(port)]);
  return {
    url: `https://localhost:${port}${way === 'sub-path' || way === 'base-path' ? '/upkeep' : ''}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 2000);
      await ended;
      clearTimeout(timer);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Setup = (
  way: Way,
  place: { readonly folder: string; readonly port: number; readonly certificate: string; readonly key: string },
) => { readonly config: string; readonly args: (path: string) => readonly string[] };

/** The part around an example that the documentation leaves out, because an installed proxy has it. */
const setups: Readonly<Record<ProxyName, Setup>> = {
  nginx: (way, { folder, certificate, key }) => ({
    config: `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
      events { worker_connections 256; }
      http { access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
        uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
        ${example('nginx', 'server')
          .replace('# One of the locations below.', () => example('nginx', way))
          .replace('/etc/ssl/upkeep.pem', certificate)
          .replace('/etc/ssl/upkeep.key', key)} }`,
    args: (path) => ['-p', folder, '-c', path],
  }),
  caddy: (way, { port, certificate, key }) => ({
    config: `{
      admin off
      auto_https disable_redirects
    }
    ${example('caddy', way).replace(
      /^\w+\.example\.com \{/,
      `https://localhost:${port} {\n tls ${certificate} ${key}\n`,
    )}`,
    args: (path) => ['run', '--adapter', 'caddyfile', '--config', path],
  }),
  haproxy: (way, { folder }) => {
    const whole = example('haproxy', 'own-host');
    const [frontend = ''] = whole.split('\nbackend upkeep');
    const own = example('haproxy', way === 'sign-on' ? 'own-host' : way);
    return {
      config: `global
    maxconn 200
defaults
    timeout connect 5s
    timeout client 50s
    timeout server 50s
${(own.includes('frontend') ? own : `${frontend}\n${own}`).replace('/etc/haproxy/upkeep.pem', `${folder}/both.pem`)}
`,
      args: (path) => ['-db', '-f', path],
    };
  },
  apache: (way, { folder, certificate, key, port }) => ({
    config: `ServerRoot ${folder}
PidFile ${folder}/pid
Listen ${port}
ServerName localhost
ErrorLog ${folder}/error.log
LogLevel warn
User www-data
Group www-data
${apacheModules.map((module) => `LoadModule ${module}_module /usr/lib/apache2/modules/mod_${module}.so`).join('\n')}
Mutex pthread
TypesConfig /dev/null
AddType text/html .html
<Directory ${folder}>
  Require all granted
</Directory>
${example('apache', 'server')
  .replace('# One of the examples below.', () => example('apache', way))
  .replace('/etc/ssl/upkeep.pem', certificate)
  .replace('/etc/ssl/upkeep.key', key)
  .replace('*:443', `*:${port}`)}
`,
    args: (path) => ['-D', 'FOREGROUND', '-d', folder, '-f', path],
  }),
};

const apacheModules = [
  ...['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'authn_file', 'auth_basic', 'auth_form', 'request'],
  ...[
    'session',
    'session_cookie',
    'session_crypto',
    'alias',
    'mime',
    'headers',
    'proxy',
    'proxy_http',
    'socache_shmcb',
  ],
  ...['ssl', 'http2'],
];

const page = readFileSync(new URL('../../docs/reverse-proxies.md', import.meta.url), 'utf8');

function example(name: ProxyName, way: Way | 'server'): string {
  const [, text] = new RegExp(`\`\`\`${name} ${way}\\n([^]*?)\`\`\``).exec(page) ?? [];
  if (text === undefined) throw new Error(`docs/reverse-proxies.md has no example "${name} ${way}"`);
  return text;
}

const tls = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));

function writeFiles(folder: string) {
  const hash = execFileSync('openssl', ['passwd', '-apr1', person.password], { encoding: 'utf8' }).trim();
  writeFileSync(join(folder, 'htpasswd'), `${person.name}:${hash}\n`);
  const form = `<title>Sign in</title><form method="post" action="/signed-in">
    <input name="httpd_username"><input name="httpd_password" type="password"><button>Sign in</button></form>`;
  writeFileSync(join(folder, 'sign-in.html'), form);
  mkdirSync(join(folder, 'certificate'));
  writeFileSync(
    join(folder, 'both.pem'),
    readFileSync(tls('server.pem'), 'utf8') + readFileSync(tls('server.key'), 'utf8'),
  );
  // Not only for root: Apache's children are another user.
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  return { certificate: tls('server.pem'), key: tls('server.key') };
}

type Example = {
  readonly name: ProxyName;
  readonly way: Way;
  readonly port: number;
  readonly behind: Behind;
  readonly folder: string;
};

function withAddresses(config: string, { name, way, port, behind: { service, signOn }, folder }: Example): string {
  const upstream = name === 'haproxy' && way === 'sign-on' ? signOn.gate : service;
  return config
    .replaceAll('upkeep:8080', `127.0.0.1:${upstream}`)
    .replaceAll('auth:9091', `127.0.0.1:${signOn.port}`)
    .replaceAll('https://auth.example.com', `http://localhost:${signOn.port}`)
    .replaceAll(/\w+\.example\.com/g, 'localhost')
    .replaceAll(/(?<=listen |bind :)443/g, String(port))
    .replaceAll(/\/etc\/\w+\/upkeep\.htpasswd/g, `${folder}/htpasswd`)
    .replaceAll('/var/www/sign-in.html', `${folder}/sign-in.html`)
    .replaceAll('PASSPHRASE', 'a-passphrase')
    .replaceAll('insecure-password PASSWORD', `insecure-password ${person.password}`)
    .replaceAll('PASSWORD-HASH', () => caddyHash());
}

function caddyHash(): string {
  return execFileSync(programs.caddy, ['hash-password', '--plaintext', person.password], { encoding: 'utf8' }).trim();
}

/** A sign-on service: `port` answers the questions of a proxy, `gate` is a proxy itself, like oauth2-proxy. */
export type SignOn = {
  readonly port: number;
  readonly gate: number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Signs in whoever comes to its page, by a cookie for the host. */
export async function startSignOn(service: number): Promise<SignOn> {
  const isSignedIn = ({ headers }: IncomingMessage): boolean => /(?:^|; )signon=yes(?:;|$)/.test(headers.cookie ?? '');
  const portal = createServer((asked, response) => {
    const url = new URL(asked.url ?? '', 'http://localhost');
    if (url.pathname === '/api/authz/auth-request') return end(response, isSignedIn(asked) ? 200 : 401);
    if (url.pathname === '/api/authz/forward-auth') {
      const { 'x-forwarded-proto': scheme, 'x-forwarded-host': host, 'x-forwarded-uri': path } = asked.headers;
      if (isSignedIn(asked)) return end(response, 200);
      return end(response, 302, { location: portalFor(`${String(scheme)}://${String(host)}${String(path)}`) });
    }
    end(response, 302, { 'set-cookie': 'signon=yes; Path=/', location: url.searchParams.get('rd') ?? '/' });
  });
  const gate = createServer((asked, response) => {
    if (!isSignedIn(asked))
      return end(response, 302, { location: portalFor(`https://${String(asked.headers.host)}${String(asked.url)}`) });
    const { method, url: path, headers } = asked;
    const passed = request({ port: service, host: '127.0.0.1', method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  const portalFor = (target: string): string => `http://localhost:${portOf(portal)}/?rd=${encodeURIComponent(target)}`;
  for (const server of [portal, gate])
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    port: portOf(portal),
    gate: portOf(gate),
    async [Symbol.asyncDispose]() {
      for (const server of [portal, gate]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

function end(response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, headers);
  response.end();
}

function portOf(server: { readonly address: () => AddressInfo | string | null }): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => (socket.destroy(), resolve(true)));
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
