import type { Application } from '../../../application/application.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { refuseUnmatched } from '../../../domain/check/selection.ts';
import type { Inventory } from '../../../domain/inventory.ts';
import type { Clock, SharedRecords } from '../../../domain/outside/outside.ts';
import { type JsonObject, parseJsonObject } from '../../../domain/text/json.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { words } from '../../../domain/text/words.ts';
import type { RunningService } from '../../../domain/run/event.ts';
import {
  configurationEntry,
  containerNotesEntry,
  historyEntry,
  unfinishedField,
  detailsEntry,
  type Configuration,
  type HistoryEntry,
} from '../../json/entries.ts';
import { replyFields } from '../../json/timestamps.ts';
import { readConfig, readContainers, readHistory, readNotes } from './read-views.ts';
import type { Answer, ContainersView, NotesView, Sources } from './context.ts';

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
    notes: (container, signal) => ask(`notes?container=${encodeURIComponent(container)}&full=true`, readNotes, signal),
    follow,
  };
}

type FolderParts = {
  /** The folder of --state-dir. */
  readonly folder: string;
  /** The service that keeps its state in the folder; it may not run. */
  readonly client: Pick<RunningService, 'read' | 'follow'>;
  readonly history: SharedRecords<HistoryEntry> | undefined;
  readonly local: Sources;
  readonly clock: Clock;
};

/**
 * The data of a folder of --state-dir, and of its service. The history is in the folder; without the service, containers
 * are those of the engine.
 */
export function createFolderSources({ folder, client, history, local, clock }: FolderParts): Sources {
  const service = createRemoteSources(client);
  return {
    ...local,
    containers: (signal) =>
      service.containers(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        if (error instanceof ServiceError) return local.containers(signal);
        throw error;
      }),
    notes: (container, signal) =>
      service.notes(container, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        // A service does not know what an earlier process has found, until its next check.
        const isAnswer = !(error instanceof ServiceError) || !/^(?:service-unreachable|not-found)$/.test(error.code);
        if (isAnswer) throw error;
        return local.notes(container, signal);
      }),
    async history() {
      const runs = ((await history?.read()) ?? []).slice(-maxRuns);
      const fault = history?.fault();
      if (fault !== undefined) throw new ServiceError('invalid-input', `Cannot read the history: ${fault}`);
      const entries = runs.map(historyEntry);
      const document = { entries, count: entries.length, ...replyFields(clock.nowMs()) };
      return { document, view: readHistory(document) };
    },
    async *follow(signal) {
      try {
        yield* service.follow(signal);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'service-unreachable') throw error;
        throw new ServiceError('service-unreachable', `Cannot follow events: no service with ${quoted(folder)} runs`, {
          cause: error,
          remedy: 'Start it, or name another one with --url',
        });
      }
    },
  };
}

/** As many as the API lists. */
const maxRuns = 500;

type LocalParts = {
  /** Connects to the engine; called only when it is needed. */
  readonly open: () => Promise<{ readonly application: Listing; readonly close: () => Promise<void> }>;
  readonly configuration: Configuration;
  readonly clock: Clock;
};

type Listing = Pick<
  Application,
  'ready' | 'follow' | 'inventory' | 'unwatched' | 'engines' | 'close' | 'check' | 'readNotes' | 'notesOf'
>;

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
      return {
        view: { ...readContainers(document), ...(unreachable.length > 0 && { unreachable: unreachable }) },
        document,
      };
    } finally {
      await application.close();
      await close();
    }
  }

  async function notes(container: string, signal: AbortSignal): Promise<Answer<NotesView>> {
    const { application, close } = await open();
    try {
      const report = await application.check({ containers: [container], images: [], trigger: 'command' }, signal);
      refuseUnmatched(report, 'show release notes of');
      await application.readNotes(container, signal);
      const found = application.notesOf(container);
      if (found === undefined || found === 'several')
        throw new ServiceError(
          found === undefined ? 'not-found' : 'invalid-input',
          `Cannot show release notes of ${quoted(container)}: ${
            found === undefined ? whyNoNewer(report) : 'several engines have a container of this name'
          }`,
          found === 'several' ? { remedy: '--host names one of them' } : {},
        );
      const document = { ...containerNotesEntry(found, true), ...replyFields(clock.nowMs()) };
      return { view: readNotes(parseJsonObject(JSON.stringify(document)) ?? {}), document };
    } finally {
      await application.close();
      await close();
    }
  }

  return {
    containers,
    notes,
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

/** A failed check must not look like one that has found nothing. */
function whyNoNewer({ containers }: Awaited<ReturnType<Listing['check']>>): string {
  const failed = containers.find(({ status }) => status === 'unknown');
  return failed === undefined
    ? 'no newer version of it was found'
    : `it ${words.verdict.unknown}: ${printable(failed.reason, 500)}`;
}

async function listContainers(application: Listing, signal: AbortSignal): Promise<Inventory> {
  const deadline = AbortSignal.timeout(listingTimeoutMs);
  await application.ready(signal);
  await application.follow(AbortSignal.any([signal, deadline])).catch((error: unknown) => {
    throw deadline.aborted ? tooSlow() : error;
  });
  return application.inventory();
}

function tooSlow(): ServiceError {
  return new ServiceError('timeout', 'Cannot list containers: the engine takes too long', {
    remedy: 'See whether "docker ps" answers there, and repeat the command',
  });
}

/** With the time until the engine is reached. A person waits for it. */
const listingTimeoutMs = 25_000;

/** The command line has already been refused: config/read/process-settings.ts. */
function needsService(what: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot show ${what} without a running service`);
}
