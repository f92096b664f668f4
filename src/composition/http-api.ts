import type { Application } from '../application/application.ts';
import type { TargetStatus } from '../domain/notification/status.ts';
import { endpointGroups, type HttpSettings, type TokenSource } from '../domain/settings/http-settings.ts';
import type { CommandContext } from '../interfaces/cli/context/context.ts';
import { type Command, type ProcessContext, tokensOf } from './process-context.ts';

/** The HTTP API and its metrics. Their modules are loaded only if the API is enabled. */
export function apiOf(
  http: HttpSettings,
  { command, settings: { service, run }, options }: Command,
  { application, clock, log, program, notifications }: ApiParts,
): NonNullable<CommandContext['serve']> {
  return async () => {
    const { createHttpServer } = await import('../interfaces/http/server/server.ts');
    const { listen } = await import('../interfaces/http/server/listen.ts');
    const { createMetrics } = await import('../interfaces/metrics/metrics.ts');
    const { shownConfiguration } = await import('../config/show/shown-configuration.ts');
    const updatesAvailable = () => application.status().updatesAvailable;
    const metrics = createMetrics({
      clock,
      updatesAvailable,
      containersDown: () => application.inventory().unfinished.filter(({ isDown }) => isDown).length,
      version: program.version,
      ...(http.containerMetrics && { containers: () => application.inventory().containers }),
      ...(application.engines && { engines: application.engines }),
    });
    application.subscribe(metrics.record);
    const configuration = () => shownConfiguration(service, options, application.inventory().scope);
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
    return {
      address,
      page: pageOf(address + http.basePath, http.groups),
      tokens: { api: tokensOf(http.token)[0] ?? '', events: tokensOf(http.eventsToken)[0] ?? '' },
      stop: async () => {
        await stop();
        await application.close();
      },
    };
  };
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
  };
}
