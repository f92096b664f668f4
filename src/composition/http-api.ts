import { basename, dirname, join } from 'node:path';
import type { Application } from '../application/application.ts';
import type { TargetStatus } from '../domain/notification/message.ts';
import {
  endpointGroups,
  type HttpSettings,
  type TokenSource,
  type EndpointGroup,
} from '../domain/settings/http-settings.ts';
import type { CommandContext } from '../interfaces/cli/context/context.ts';
import { messageWithoutPath, describeError, codeOf } from '../domain/text/errors.ts';
import { clientSecretOf, tokensOf, type Command, type ProcessContext } from './process-context.ts';
import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Server } from 'node:http';

/** The HTTP API and its metrics. Their modules are loaded only if the API is enabled. */
export function apiOf(
  http: HttpSettings,
  { command, settings: { service, run, state, registry }, options }: Command,
  { application, clock, log, program, notifications, notesRequests }: ApiParts,
): NonNullable<CommandContext['serve']> {
  return async () => {
    const { createHttpServer } = await import('../interfaces/http/server/server.ts');
    const { listen } = await import('../interfaces/http/server/connections.ts');
    const { createMetrics } = await import('../interfaces/metrics/metrics.ts');
    const { shownConfiguration } = await import('../config/show/shown-configuration.ts');
    const updatesAvailable = () => application.status().updatesAvailable;
    const metrics = createMetrics({
      clock,
      updatesAvailable,
      containersDown: () => application.inventory().unfinished.filter(({ isDown }) => isDown).length,
      version: program.version,
      ...(http.containerMetrics && { containers: () => application.inventory().containers }),
      notesOf: () => application.inventory().containers,
      ...(notesRequests && { notesRequests: () => notesRequests }),
      ...(application.engines && { engines: application.engines }),
    });
    application.subscribe(metrics.record);
    const ownName = () => application.inventory().containers.find(({ self }) => self)?.name;
    const configuration = () => shownConfiguration(service, options, application.inventory().scope);
    const signOn = await signOnOf(http, registry, { clock, program });
    const { server, stop } = createHttpServer({
      settings: http,
      service: application,
      clock,
      log,
      version: program.version,
      configuration,
      runOptions: {
        ...service,
        runOnce: run.once,
        get skipSelfUpdate() {
          return !application.updatesItself();
        },
      },
      metrics: metrics.text,
      assetsFolder: program.assetsFolder,
      dashboardFolder: program.dashboardFolder,
      sessions: await sessionsIn(http, state.folder, log),
      ...signOn,
      ...(notifications && { notifications }),
    });
    // A list requested right after the start should be available, but an unreachable engine must not delay the start.
    const waited = new AbortController();
    const listed = application.follow().catch(() => undefined);
    await Promise.race([listed, clock.sleep(2000, waited.signal).catch(() => undefined)]);
    waited.abort();
    const address = await listen(server, http).catch((error: unknown) => {
      // The demo must not fail because another program uses the port.
      if (command === 'demo') return listen(server, { ...http, port: 0 });
      throw error;
    });
    // Supervisors and scripts wait for this one word.
    log.info('listening', { address, groups: groupWords(http.groups) });
    if (http.groups.includes('dashboard') && command === 'run')
      log.info(`The page is at ${pageOf(address + http.basePath, http.groups)}: ${signInWords(http, ownName())}`);
    return {
      address,
      page: pageOf(address + http.basePath, http.groups),
      tokens: { api: tokensOf(http.token)[0] ?? '', events: tokensOf(http.eventsToken)[0] ?? '' },
      stop: async () => {
        await stop();
        await signOn?.issuer.close();
        await application.close();
      },
    };
  };
}

/** The command that shows what to sign in with. */
function signInWords({ madeTokens, token }: HttpSettings, container: string | undefined): string {
  if (token === undefined) return 'set a password with "upkeep password" to sign in';
  const prefix = container === undefined ? '' : `docker exec ${container} `;
  return madeTokens.some((path) => token.kind === 'file' && path === token.path)
    ? `sign in with the token that "${prefix}upkeep token" shows`
    : 'sign in with the token of --http-api-token';
}

/** Sessions of browsers, which survive the process with --state-dir, and the password to begin one with. */
async function sessionsIn(
  { passwordFile, groups }: HttpSettings,
  folder: string | undefined,
  log: ProcessContext['log'],
) {
  if (!groups.includes('dashboard')) return { password: undefined, kept: undefined };
  const { openPassword } = await import('../adapters/process/password.ts');
  const password = passwordFile === undefined ? undefined : openPassword(passwordFile, log);
  if (folder === undefined) return { password, kept: undefined };
  const { openSessions } = await import('./memory.ts');
  const store = openSessions(folder, { log });
  return { password, kept: { changes: await store.read(), store } };
}

/** The issuer that people sign in at. It is asked at a sign-in, not now. */
async function signOnOf(
  { oidc, groups }: HttpSettings,
  { proxy, tlsMinVersion, extraCa, systemTrust }: Command['settings']['registry'],
  { clock, program: { version } }: Pick<ProcessContext, 'clock' | 'program'>,
) {
  if (oidc === undefined || !groups.includes('dashboard')) return undefined;
  const { createIssuer } = await import('../adapters/oidc/issuer.ts');
  const { createOidcSignIns } = await import('../interfaces/http/routes/oidc.ts');
  const trust = { tlsMinVersion, extraCa, systemTrust };
  const clientSecret = () => clientSecretOf(oidc.clientSecret);
  const issuer = createIssuer({ settings: oidc, clientSecret, clock, version, proxy, trust });
  return { issuer, openSignIns: createOidcSignIns };
}

/** Makes the tokens that nobody has given, at the first start. Throws `invalid-input` if the folder cannot hold them. */
export async function makeTokens({ madeTokens }: HttpSettings): Promise<void> {
  if (madeTokens.length === 0) return;
  const { makeSecret } = await import('../adapters/process/seal.ts');
  const { ServiceError } = await import('../domain/text/errors.ts');
  for (const path of madeTokens) {
    try {
      makeSecret(dirname(path), path);
      if (tokensOf({ kind: 'file', path }).length === 0)
        throw new Error(`the file ${basename(path)} of --state-dir holds none`);
    } catch (cause) {
      throw new ServiceError('invalid-input', `Cannot make the token of the HTTP API: ${messageWithoutPath(cause)}`, {
        cause,
        remedy: 'remove that file, name a --state-dir that can be written to, or give a token with --http-api-token',
      });
    }
  }
}

/** The groups as the option names them. */
function groupWords(groups: HttpSettings['groups']): string {
  return endpointGroups.every((group) => groups.includes(group)) ? 'all' : groups.join(',');
}

function pageOf(base: string, groups: readonly string[]): string {
  return groups.includes('dashboard') ? `${base}/` : `${base}/swagger/index.html`;
}

type ApiParts = Pick<ProcessContext, 'clock' | 'log' | 'program'> & {
  readonly application: Application;
  readonly notifications?: () => readonly TargetStatus[];
  readonly notesRequests?: ReadonlyMap<string, number>;
};

/**
 * Settings of the demo: all groups, only on this machine by default. Without tokens it generates one for everything, so
 * that its page is live after a sign-in with one token.
 */
export async function demoApi(http: HttpSettings): Promise<HttpSettings> {
  const { randomBytes } = await import('node:crypto');
  const token: TokenSource = http.token ?? { kind: 'value', value: randomBytes(12).toString('base64url') };
  return {
    ...http,
    host: http.host ?? '127.0.0.1',
    groups: http.groups.length > 0 ? http.groups : endpointGroups,
    token,
    eventsToken: http.eventsToken ?? token,
    webhookSecret: http.webhookSecret ?? token,
  };
}

type SocketParts = Pick<ProcessContext, 'clock' | 'log' | 'program'> & { readonly application: Application };

/**
 * Serves what `upkeep events` and `upkeep containers` read, on a socket in the folder of --state-dir. Only the owner of
 * the service can open it, so these commands need no address and no token. A folder that can hold no socket is no
 * reason to stop: the commands then need --url.
 */
export async function serveCommands(
  folder: string,
  { settings, options }: Command,
  { application, clock, log, program }: SocketParts,
): Promise<{ readonly stop: () => Promise<void> }> {
  const { socketName, socketToken } = await import('../adapters/service/client.ts');
  const { createHttpServer } = await import('../interfaces/http/server/server.ts');
  const { shownConfiguration } = await import('../config/show/shown-configuration.ts');
  const { http, service, run } = settings;
  const path = join(folder, socketName);
  const token = { kind: 'value', value: socketToken } as const;
  const groups: readonly EndpointGroup[] = http.groups.length > 0 ? ['events', 'containers', 'metrics'] : ['events'];
  const { server, stop } = createHttpServer({
    settings: {
      ...{ ...http, groups, token, eventsToken: token, tls: undefined, trustedProxies: [], corsOrigins: [] },
      rateLimit: 100_000,
    },
    service: application,
    clock,
    log: { ...log, info: log.debug },
    version: program.version,
    configuration: () => shownConfiguration(service, options, ''),
    runOptions: { ...service, runOnce: run.once, skipSelfUpdate: !application.updatesItself() },
    metrics: () => Promise.resolve(''),
    assetsFolder: program.assetsFolder,
    dashboardFolder: program.dashboardFolder,
  });
  try {
    await removeStale(path);
    await listenPrivately(server, path);
  } catch (error) {
    log.info('Commands of this machine need --url, because the folder of --state-dir cannot hold a socket', {
      error: describeError(error),
    });
    return { stop: () => Promise.resolve() };
  }
  return { stop };
}

/** A service that was killed leaves its socket. Throws if another service answers there. */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error('it has a file with the name of the socket');
  if (await isAnswered(path)) throw new Error('another service with this folder is running');
  await rm(path);
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: 2000 });
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(true));
    // One that may not be opened belongs to a living service of another user.
    socket.once('error', (error) => end(codeOf(error) !== 'ECONNREFUSED' && codeOf(error) !== 'ENOENT'));
  });
}

function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The socket is made within the call, and never has other rights than these.
    const before = process.umask(0o177);
    try {
      server.listen({ path }, () => {
        server.off('error', reject).unref();
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
}
