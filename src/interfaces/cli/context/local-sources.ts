import type { Application } from '../../../application/application.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Inventory, TrackedContainer, UnfinishedTracked } from '../../../domain/inventory/inventory.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { JsonObject } from '../../../domain/text/json-value.ts';
import { configurationEntry, type Configuration } from '../../json/configuration.ts';
import { engineEntry, unfinishedField } from '../../json/entries.ts';
import { detailsEntry } from '../../json/container-details.ts';
import { toWholeSeconds } from '../../json/timestamps.ts';
import type { Answer, ContainersView, ContainerView, Sources } from './views.ts';

export type LocalParts = {
  /** Connects to the engine; called only when it is needed. */
  readonly open: () => Promise<{ readonly application: Listing; readonly close: () => Promise<void> }>;
  readonly configuration: Configuration;
  readonly clock: Clock;
};

type Listing = Pick<Application, 'ready' | 'follow' | 'inventory' | 'unwatched' | 'engines' | 'close'>;

/** The data of a service that was just started. It has no history and no events. */
export function createLocalSources({ open, configuration, clock }: LocalParts): Sources {
  const stamped = (document: JsonObject): JsonObject => ({
    ...document,
    timestamp: toWholeSeconds(clock.nowMs()),
    api_version: 'v1',
  });

  async function containers(signal: AbortSignal): Promise<Answer<ContainersView>> {
    const { application, close } = await open();
    try {
      const inventory = await listed(application, signal);
      const entries = inventory.containers.map(detailsEntry);
      const unwatched = application.unwatched();
      const away = (application.engines?.() ?? []).flatMap(({ name, error }) =>
        error === undefined ? [] : [{ name, error }],
      );
      const document = {
        containers: entries,
        count: entries.length,
        ...unfinishedField(inventory.unfinished),
        unwatched,
        ...(away.length > 0 && { unreachable: away }),
      };
      const view = { ...viewOf(inventory, unwatched), ...(away.length > 0 && { away }) };
      return { view, document: stamped(document) };
    } finally {
      await application.close();
      await close();
    }
  }

  return {
    containers,
    history: () => Promise.reject(notHere('history')),
    config: () =>
      Promise.resolve({
        view: { options: configuration.options, watched: configuration.config.filterDescription },
        document: stamped(configurationEntry(configuration)),
      }),
    follow: () => {
      throw notHere('events');
    },
  };
}

function viewOf({ containers, unfinished }: Inventory, unwatched: ContainersView['unwatched']): ContainersView {
  const keyOf = ({ name, engine = '' }: { readonly name: string; readonly engine?: string }) => `${engine}/${name}`;
  const held = new Set(unfinished.map(keyOf));
  const settled = containers.filter((container) => !held.has(keyOf(container)));
  return { containers: [...unfinished.map(viewOfUnfinished), ...settled.map(viewOfContainer)], unwatched };
}

function viewOfUnfinished({ name, engine, image, state, reason }: UnfinishedTracked): ContainerView {
  return {
    name,
    ...(engine !== undefined && { engine }),
    image,
    state: '',
    finding: { kind: 'unfinished', state },
    reason,
  };
}

function viewOfContainer(container: TrackedContainer): ContainerView {
  const { name, image, status, health, staleness, reason, version, latestVersion, candidate, releasedAtMs } = container;
  const state = health === 'none' ? status : `${status} (${health})`;
  const finding = staleness === undefined ? ({ kind: 'unchecked' } as const) : checked(staleness);
  const versions = {
    ...(version !== undefined && { version }),
    ...(latestVersion !== undefined && { latestVersion }),
    ...(candidate !== undefined && { candidate }),
    ...(releasedAtMs !== undefined && { releasedAtMs }),
  };
  return { name, ...engineEntry(container), image, ...versions, state, finding, reason };
}

function checked(status: NonNullable<TrackedContainer['staleness']>) {
  return { kind: 'checked', status } as const;
}

async function listed(application: Listing, signal: AbortSignal): Promise<Inventory> {
  await application.ready(signal);
  const deadline = AbortSignal.timeout(listingTimeoutMs);
  await application.follow(AbortSignal.any([signal, deadline])).catch((error: unknown) => {
    throw deadline.aborted ? new ServiceError('timeout', 'Cannot list containers: the engine takes too long') : error;
  });
  return application.inventory();
}

const listingTimeoutMs = 60_000;

/** The command line has already been refused: config/read/remote-settings.ts. */
function notHere(what: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot show ${what} without a running service, which alone knows them`);
}
