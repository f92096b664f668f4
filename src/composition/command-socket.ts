import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Application } from '../application/application.ts';
import { socketName, socketToken } from '../adapters/service/client.ts';
import type { EndpointGroup } from '../domain/settings/http-settings.ts';
import { describeError, codeOf } from '../domain/text/errors.ts';
import type { Command, ProcessContext } from './process-context.ts';

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
