import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startDaemon } from '../engine/daemon.ts';
import { httpRequest } from '../http.ts';
import { pki } from '../pki.ts';
import type { PushTarget } from './push.ts';
import { startTokenServer, tokenIssuer, tokenService, users } from './token-server.ts';
import type { TokenServer } from './token-server.ts';

export type RegistryOptions = {
  /** Allowed clients: all, clients with a password of `users`, or clients with a token of its own token server. */
  readonly auth?: 'none' | 'basic' | 'token';
  /** With a certificate of the lab's authority, for localhost, 127.0.0.1, registry.test and secure.test. */
  readonly tls?: boolean;
  /** With `auth: 'token'`: the URL of its token server behind a front; default: the server itself. */
  readonly realm?: string;
  /** Base URL of the registry that this one mirrors: pulls are passed on, pushes are refused. */
  readonly mirrorOf?: string;
  /** Default 127.0.0.1; the engine verifies TLS only at 198.18.0.1, which is `secure.test`. */
  readonly address?: string;
  /** Default: a free one. */
  readonly port?: number;
};

/** Debian's docker-registry, with its files in the lab. `writer` of `users` is in its `credentials`. */
export type LabRegistry = PushTarget & {
  /** Host part of a repository: `127.0.0.1:5000`. */
  readonly host: string;
  /** Present with `auth: 'token'`. */
  readonly tokenServer: TokenServer | undefined;
  readonly stop: () => Promise<void>;
  /** Starts it again after `stop()`, at the same address and with the same content. */
  readonly start: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

/** bcrypt of the passwords in `users`; docker-registry supports no other kind. */
const htpasswd = `writer:$2y$05$upkeepupkeepupkeepupke2SveDJJlsw2AF1hfOD1GwdoJvJr2JG.
reader:$2y$05$upkeepupkeepupkeepupkeBpO39TWFWGgIRYA5vta6gB6dU23x7xy
`;

let registries = 0;

/** Resolves when the registry answers: about 50 ms. */
export async function startRegistry(labDir: string, options: RegistryOptions = {}): Promise<LabRegistry> {
  registries += 1;
  const dir = join(labDir, `registry-${process.pid}-${registries}`);
  mkdirSync(dir, { recursive: true });
  const address = options.address ?? '127.0.0.1';
  const host = `${address}:${options.port ?? (await freePort(address))}`;
  const url = `${options.tls ? 'https' : 'http'}://${host}`;
  const ca = options.tls || options.realm?.startsWith('https:') ? pki(labDir).ca : undefined;
  const tokenServer = options.auth === 'token' ? await startTokenServer(pki(labDir)) : undefined;
  const configFile = join(dir, 'config.json');
  writeFileSync(join(dir, 'htpasswd'), htpasswd);
  writeFileSync(configFile, JSON.stringify(configuration({ labDir, dir, host, options, tokenServer })));

  const start = (): ReturnType<typeof startDaemon> =>
    startDaemon({
      command: ['docker-registry', 'serve', configFile],
      logFile: join(dir, 'registry.log'),
      env: { OTEL_TRACES_EXPORTER: 'none' },
      ready: async () => (await httpRequest({ url: `${url}/v2/`, ...(ca === undefined ? {} : { ca }) })).status > 0,
    });
  let daemon = await start();
  return {
    host,
    url,
    ...(ca === undefined ? {} : { ca }),
    ...(options.auth === 'basic' || options.auth === 'token'
      ? { credentials: { username: 'writer', password: users['writer'] ?? '' } }
      : {}),
    tokenServer,
    stop: () => daemon.kill(),
    start: async () => {
      daemon = await start();
    },
    remove: async () => {
      await daemon.kill();
      await tokenServer?.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

type Setting = {
  readonly labDir: string;
  readonly dir: string;
  readonly host: string;
  readonly options: RegistryOptions;
  readonly tokenServer: TokenServer | undefined;
};

/** https://distribution.github.io/distribution/about/configuration/, as JSON, which is valid YAML. */
function configuration({ labDir, dir, host, options, tokenServer }: Setting): object {
  const { serverCertificate, serverKey, tokenCertificate } = pki(labDir);
  return {
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: join(dir, 'data') },
      delete: { enabled: true },
      maintenance: { uploadpurging: { enabled: false } },
    },
    http: {
      addr: host,
      secret: 'lab',
      ...(options.tls ? { tls: { certificate: serverCertificate, key: serverKey } } : {}),
    },
    ...(options.auth === 'basic' ? { auth: { htpasswd: { realm: 'lab', path: join(dir, 'htpasswd') } } } : {}),
    ...(tokenServer
      ? {
          auth: {
            token: {
              realm: options.realm ?? tokenServer.realm,
              service: tokenService,
              issuer: tokenIssuer,
              rootcertbundle: tokenCertificate,
            },
          },
        }
      : {}),
    ...(options.mirrorOf === undefined ? {} : { proxy: { remoteurl: options.mirrorOf } }),
  };
}

async function freePort(address: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
