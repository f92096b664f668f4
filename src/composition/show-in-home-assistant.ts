import type { HomeAssistantDeps } from '../adapters/notify/home-assistant/home-assistant.ts';
import type { HomeAssistantSettings } from '../adapters/notify/home-assistant/url.ts';
import type { Settings } from '../config/read/process-settings.ts';
import type { Entities } from '../domain/home-assistant/entities.ts';
import type { Service } from './service.ts';
import type { ProcessContext } from './process-context.ts';

type HomeAssistantParts = Pick<Service, 'application'> &
  Pick<ProcessContext, 'clock' | 'log'> & {
    readonly settings: Settings;
    readonly contextFor: HomeAssistantDeps['contextFor'];
    readonly version: string;
    readonly signal: AbortSignal;
  };

/**
 * Shows the containers in each Home Assistant. Returns a function that ends this after the updates and checks that were
 * begun there.
 */
export async function showInHomeAssistant(
  homeAssistants: readonly HomeAssistantSettings[],
  { application, settings, contextFor, clock, log, version, signal }: HomeAssistantParts,
): Promise<() => Promise<unknown>> {
  if (homeAssistants.length === 0) return () => Promise.resolve();
  if (settings.run.once) {
    log.warn('Home Assistant shows no containers with --run-once, because the process ends after the run');
    return () => Promise.resolve();
  }
  const { openHomeAssistant } = await import('../adapters/notify/home-assistant/home-assistant.ts');
  const { showEntities } = await import('../application/notify/show-entities.ts');
  const { hostname } = await import('node:os');
  const begun = new Set<Promise<unknown>>();
  const begin = (what: string, work: Promise<unknown>) => {
    const one = work
      .catch((error: unknown) => log.warn(`Home Assistant asked for ${what}, which failed`, { error }))
      .finally(() => begun.delete(one));
    begun.add(one);
  };
  const homes = homeAssistants.map((home) =>
    openHomeAssistant(home, {
      version,
      hostName: settings.notifications.hostname ?? hostname(),
      nowMs: clock.monotonicMs,
      random: Math.random,
      contextFor,
      warn: (message) => log.warn(message),
      onInstall: (name) => {
        const [own = name] = name.split(' ');
        const [engine, bare = own] = application.engines === undefined ? [undefined, own] : own.split('/', 2);
        const containers = [bare.replaceAll('.', String.raw`\.`)];
        const where = engine === undefined ? {} : { engines: [engine] };
        begin('an update', application.update({ images: [], containers, ...where, trigger: 'http' }, signal));
      },
      onCheck: () => begin('a check', application.check({ images: [], containers: [], trigger: 'http' }, signal)),
    }),
  );
  application.follow().catch(() => undefined);
  const closing = new AbortController();
  const { inventory, subscribe } = application;
  const show = (fleet: Entities) => homes.forEach((home) => home.show(fleet));
  const showing = showEntities({ inventory, subscribe, clock, show }, closing.signal);
  return async () => {
    await Promise.all(begun);
    closing.abort();
    await Promise.all([showing, ...homes.map((home) => home.close())]);
  };
}
