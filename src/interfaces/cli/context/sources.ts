import type { Application } from '../../../application/application.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Inventory } from '../../../domain/inventory/inventory.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { JsonObject } from '../../../domain/text/json-value.ts';
import type { RunningService } from '../../../domain/run/running-service.ts';
import { configurationEntry, type Configuration } from '../../json/configuration.ts';
import { unfinishedField } from '../../json/entries.ts';
import { detailsEntry } from '../../json/container-details.ts';
import { replyFields } from '../../json/timestamps.ts';
import { readConfig, readContainers, readHistory } from './read-views.ts';
import type { Answer, ContainersView, Sources } from './views.ts';

/** The data of a running service. */
export function createRemoteSources({ read, follow }: Pick<RunningService, 'read' | 'follow'>): Sources {
  const ask = async <View>(what: Parameters<typeof read>[0], view: (from: JsonObject) => View, signal: AbortSignal) => {
    const document = await read(what, signal);
    return { document, view: view(document) };
  };
  return {
    containers: (signal) => ask('containers/details', readContainers, signal),
    history: (signal) => ask('history', readHistory, signal),
    config: (signal) => ask('config', readConfig, signal),
    follow,
  };
}

export type LocalParts = {
  /** Connects to the engine; called only when it is needed. */
  readonly open: () => Promise<{ readonly application: Listing; readonly close: () => Promise<void> }>;
  readonly configuration: Configuration;
  readonly clock: Clock;
};

type Listing = Pick<Application, 'ready' | 'follow' | 'inventory' | 'unwatched' | 'engines' | 'close'>;

/** The data of a service that was just started. It has no history and no events. */
export function createLocalSources({ open, configuration, clock }: LocalParts): Sources {
  async function containers(signal: AbortSignal): Promise<Answer<ContainersView>> {
    const { application, close } = await open();
    try {
      const inventory = await listContainers(application, signal);
      const unreachable = (application.engines?.() ?? []).flatMap(({ name, error }) =>
        error === undefined ? [] : [{ name, error }],
      );
      const document = {
        containers: inventory.containers.map(detailsEntry),
        count: inventory.containers.length,
        ...unfinishedField(inventory.unfinished),
        unwatched: application.unwatched(),
        ...(unreachable.length > 0 && { unreachable }),
        ...replyFields(clock.nowMs()),
      };
      return { view: { ...readContainers(document), ...(unreachable.length > 0 && { away: unreachable }) }, document };
    } finally {
      await application.close();
      await close();
    }
  }

  return {
    containers,
    history: () => Promise.reject(needsService('history')),
    config: () => {
      const document = { ...configurationEntry(configuration), ...replyFields(clock.nowMs()) };
      return Promise.resolve({ view: readConfig(document), document });
    },
    follow: () => {
      throw needsService('events');
    },
  };
}

async function listContainers(application: Listing, signal: AbortSignal): Promise<Inventory> {
  await application.ready(signal);
  const deadline = AbortSignal.timeout(listingTimeoutMs);
  await application.follow(AbortSignal.any([signal, deadline])).catch((error: unknown) => {
    throw deadline.aborted ? new ServiceError('timeout', 'Cannot list containers: the engine takes too long') : error;
  });
  return application.inventory();
}

const listingTimeoutMs = 60_000;

/** The command line has already been refused: config/read/remote-settings.ts. */
function needsService(what: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot show ${what} without a running service`);
}
