import type { Application } from '../../../application/application.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { JsonObject, RunningService } from '../../../domain/run/running-service.ts';
import { configurationEntry, type Configuration } from '../../json/configuration.ts';
import { unfinishedField } from '../../json/entries.ts';
import { detailsEntry } from '../../json/container-details.ts';
import { toWholeSeconds } from '../../json/timestamps.ts';

export type LocalParts = {
  /** Reaches the engine; asked for only where it is needed. */
  readonly open: () => Promise<{ readonly application: Listing; readonly close: () => Promise<void> }>;
  readonly configuration: Configuration;
  readonly clock: Clock;
};

type Listing = Pick<Application, 'ready' | 'follow' | 'inventory' | 'close'>;

/** The documents of a service started just now; it has no history and no events. */
export function createLocalService({ open, configuration, clock }: LocalParts): RunningService {
  const stamped = (document: JsonObject) => ({
    ...document,
    timestamp: toWholeSeconds(clock.nowMs()),
    api_version: 'v1',
  });

  async function containers(signal: AbortSignal): Promise<JsonObject> {
    const { application, close } = await open();
    try {
      const { containers, unfinished } = await listed(application, signal);
      const entries = containers.map(detailsEntry);
      return stamped({ containers: entries, count: entries.length, ...unfinishedField(unfinished) });
    } finally {
      await application.close();
      await close();
    }
  }

  return {
    read: async (what, signal) => {
      switch (what) {
        case 'containers/details':
          return containers(signal);
        case 'config':
          return stamped(configurationEntry(configuration));
        case 'history':
          throw notHere('history');
      }
    },
    follow: () => {
      throw notHere('events');
    },
  };
}

async function listed(application: Listing, signal: AbortSignal) {
  await application.ready(signal);
  const deadline = AbortSignal.timeout(listingTimeoutMs);
  await application.follow(AbortSignal.any([signal, deadline])).catch((error: unknown) => {
    throw deadline.aborted ? new ServiceError('timeout', 'Cannot list containers: the engine takes too long') : error;
  });
  return application.inventory();
}

const listingTimeoutMs = 60_000;

/** The command line is refused before: config/read/remote-settings.ts. */
function notHere(what: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot show ${what} without a running service, which alone knows them`);
}
