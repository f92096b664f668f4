import { type ShownOption, readOptions } from '../state/documents/configuration.ts';
import { type Decision, readDecisions } from '../state/documents/decisions.ts';
import { readDetails, withDecisions, withEnginesAway } from '../state/documents/details.ts';
import { type PastRun, readHistory } from '../state/documents/history.ts';
import { type EngineAway, noStatus, readEnginesAway, readStatus } from '../state/documents/status.ts';
import type { ContainerStore, StoreChanges } from '../state/containers/container-store.ts';
import { duration } from '../state/words/numbers.ts';
import type { SendRequest, Reply } from './client.ts';

/** Reads the documents of the API, and keeps the time and result of the last reading. */
export type Reader = {
  /** Reads containers and status. `away`: Upkeep is unreachable, or refuses for now. */
  readonly read: (signal?: AbortSignal) => Promise<'ok' | 'away' | 'refused'>;
  readonly readRuns: () => Promise<boolean>;
  readonly readOptions: () => Promise<void>;
  readonly readAtMs: () => number;
  /** The reason why the engine is unreachable; undefined if it answers. */
  readonly engineError: () => string | undefined;
  /** The unreachable engines, with several engines. */
  readonly enginesAway: () => readonly EngineAway[];
  /** The reason why the last reading failed, as a sentence. */
  readonly awayWhy: () => string;
  readonly runs: () => readonly PastRun[];
  readonly options: () => readonly ShownOption[];
};

export type ReaderParts = {
  readonly ask: SendRequest;
  readonly isOn: (group: string) => boolean;
  readonly fleet: ContainerStore;
  readonly nowMs: () => number;
  readonly onRead: (taken: StoreChanges) => void;
};

const noAnswer = 'Upkeep does not answer.';

export function createReader({ ask, isOn, fleet, nowMs, onRead }: ReaderParts): Reader {
  let readAtMs = 0;
  let engineError: string | undefined;
  let awayWhy = noAnswer;
  let runs: readonly PastRun[] = [];
  let options: readonly ShownOption[] = [];
  let decisions: readonly Decision[] = [];
  let enginesAway: readonly EngineAway[] = [];
  let begun = 0;
  let newest = 0;
  let lastRunAtMs: number | undefined;

  async function read(signal?: AbortSignal): Promise<'ok' | 'away' | 'refused'> {
    begun += 1;
    const place = begun;
    const limits = signal === undefined ? {} : { signal };
    const nothing: Reply = { kind: 'ok', document: undefined };
    const [details, status, decided] = await Promise.all([
      ask('v1/containers/details', limits),
      isOn('metrics') ? ask('v1/status?extra=true', limits) : nothing,
      isOn('decisions') ? ask('v1/decisions', limits) : nothing,
    ]);
    if (signal?.aborted === true) return 'away';
    if (details.kind === 'away') return away(noAnswer);
    if (details.kind === 'refused') {
      if (details.status === 401) return 'refused';
      if (details.status !== 500) return away(refusalWords(details));
    }
    // Readings overlap. An answer is outdated if a later reading has already ended.
    if (place < newest) return 'ok';
    newest = place;
    const newStatus = status.kind === 'ok' && isOn('metrics') ? readStatus(status.document) : undefined;
    engineError = details.kind === 'refused' ? details.why : engineWords(newStatus?.engineError);
    if (decided.kind === 'ok') decisions = readDecisions(decided.document);
    const listed = details.kind === 'ok' ? withDecisions(readDetails(details.document), decisions) : fleet.all();
    // Engines have names only if there are several.
    if (listed.some(({ engine }) => engine !== '')) {
      const engines = await ask('v1/engines', limits);
      if (engines.kind === 'ok') enginesAway = readEnginesAway(engines.document);
    }
    const containers = withEnginesAway(listed, enginesAway);
    if (place < newest) return 'ok';
    performance.clearMarks('data');
    performance.mark('data');
    if (details.kind === 'ok' && newStatus?.engineError === undefined) readAtMs = nowMs();
    // Without both groups the page never hears of a run, so no container waits for one.
    const isDeaf = !isOn('metrics') && !isOn('events');
    onRead(fleet.take(containers, isDeaf ? noStatus : newStatus, nowMs()));
    if (newStatus !== undefined) void readNewRuns(newStatus.lastRunAtMs);
    return 'ok';
  }

  /** Reads the runs if a run has ended since. Polling never hears of its end, and a stream may have missed it. */
  async function readNewRuns(endedAtMs: number | undefined): Promise<void> {
    if (endedAtMs === lastRunAtMs || !(await readRuns())) return;
    lastRunAtMs = endedAtMs;
    onRead({ changed: [], added: [], removed: [] });
  }

  function away(why: string): 'away' {
    awayWhy = why;
    return 'away';
  }

  /** False without an answer. */
  async function readRuns(): Promise<boolean> {
    if (!isOn('history')) return false;
    const reply = await ask('v1/history');
    if (reply.kind !== 'ok') return false;
    runs = readHistory(reply.document);
    return true;
  }

  return {
    read,
    readRuns,
    readOptions: async () => {
      if (!isOn('config')) return;
      const reply = await ask('v1/config');
      if (reply.kind === 'ok') options = readOptions(reply.document);
    },
    readAtMs: () => readAtMs,
    engineError: () => engineError,
    enginesAway: () => enginesAway,
    awayWhy: () => awayWhy,
    runs: () => runs,
    options: () => options,
  };
}

function engineWords(error: string | undefined): string | undefined {
  if (error === undefined || /^cannot/i.test(error)) return error;
  return `Cannot reach the container engine: ${error}`;
}

function refusalWords({ status, why, retryAfterMs }: Extract<Reply, { readonly kind: 'refused' }>): string {
  if (status !== 429) return `Upkeep refuses to answer: ${why}.`;
  const again = retryAfterMs === undefined ? '' : `, again in ${duration(retryAfterMs)}`;
  return `Upkeep limits requests${again}.`;
}
