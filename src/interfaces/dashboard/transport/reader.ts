import {
  readOptions as optionsIn,
  noStatus,
  readEnginesAway,
  readStatus,
  type ShownOption,
  type EngineAway,
} from '../state/documents/status.ts';
import {
  readDecisions,
  readDetails,
  withDecisions,
  withEnginesAway,
  type Decision,
  type WatchedContainer,
} from '../state/documents/container.ts';
import { type NotesRelease, readReleases } from '../state/documents/notes.ts';
import { type PastRun, readHistory } from '../state/documents/history.ts';
import type { ContainerStore, StoreChanges } from '../state/containers/container-store.ts';
import { duration } from '../state/words.ts';
import { type RequestOptions, type SendRequest, type Reply, reasonOf } from './client.ts';

/** Reads the documents of the API, and keeps the time and result of the last reading. */
export type Reader = {
  /** Reads containers and status. `unreachable`: Upkeep is unreachable, or refuses for now. */
  readonly read: (limits?: ReadLimits) => Promise<'ok' | 'unreachable' | 'refused'>;
  readonly readRuns: () => Promise<boolean>;
  readonly readOptions: () => Promise<boolean>;
  readonly readAtMs: () => number;
  /** The newest event that the last reading knows. Empty: not known. */
  readonly lastEventId: () => string;
  /** The reason why the engine is unreachable; undefined if it answers. */
  readonly engineError: () => string | undefined;
  /** The unreachable engines, with several engines. */
  readonly enginesAway: () => readonly EngineAway[];
  /** The reason why the last reading failed, as a sentence. */
  readonly awayWhy: () => string;
  /** Whether a proxy answered in the place of Upkeep: it wants a sign-in, which only a reload can begin. */
  readonly isIntercepted: () => boolean;
  /** The time that Upkeep asks to wait before the next reading. 0 after a success. */
  readonly retryAfterMs: () => number;
  /** Reads the texts of release notes, unless they are those that were read last. Whether they have changed. */
  readonly readNotes: (one: WatchedContainer) => Promise<boolean>;
  /** The releases with their texts. Undefined: they have not been read. */
  readonly notesOf: (one: WatchedContainer) => readonly NotesRelease[] | undefined;
  readonly runs: () => readonly PastRun[];
  readonly options: () => readonly ShownOption[];
  readonly gapOf: (document: 'runs' | 'options') => Gap | undefined;
};

type ReadLimits = Pick<RequestOptions, 'signal' | 'maxAgeMs'>;

/** The state of a document that was never read: its reading has not ended, or has failed for a reason. */
export type Gap = 'reading' | { readonly why: string };

export type ReaderParts = {
  readonly ask: SendRequest;
  readonly isOn: (group: string) => boolean;
  /** Whether the page follows the events at present. */
  readonly isFollowing: () => boolean;
  readonly containers: ContainerStore;
  readonly nowMs: () => number;
  readonly onRead: (taken: StoreChanges) => void;
};

const noAnswer = 'Upkeep does not answer.';

function notesKey({ name, latestVersion, notes }: WatchedContainer): string {
  return JSON.stringify([name, latestVersion, notes?.url, notes?.releases, notes?.readAtMs]);
}

export function createReader({ ask, isOn, isFollowing, containers, nowMs, onRead }: ReaderParts): Reader {
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
  let retryAfterMs = 0;
  let lastEventId = '';
  let isIntercepted = false;
  let whole: { readonly key: string; readonly releases: readonly NotesRelease[] | undefined } | undefined;
  const gaps: Record<'runs' | 'options', Gap | undefined> = { runs: 'reading', options: 'reading' };

  async function read(limits: ReadLimits = {}): Promise<'ok' | 'unreachable' | 'refused'> {
    begun += 1;
    const place = begun;
    const nothing: Reply = { kind: 'ok', document: undefined };
    const [details, status, decided] = await Promise.all([
      ask('v1/containers/details', limits),
      isOn('metrics') ? ask('v1/status?extra=true', limits) : nothing,
      isOn('decisions') ? ask('v1/decisions', limits) : nothing,
    ]);
    if (limits.signal?.aborted === true) return 'unreachable';
    isIntercepted = details.kind === 'intercepted';
    if (details.kind === 'intercepted') return away('Your proxy wants you to sign in.');
    if (details.kind === 'unreachable') return away(noAnswer);
    if (details.kind === 'refused') {
      if (details.status === 401) return 'refused';
      if (details.status !== 500) return away(refusalWords(details), details.retryAfterMs);
    }
    // Readings overlap. An answer is outdated if a later reading has already ended.
    if (place < newest) return 'ok';
    newest = place;
    retryAfterMs = 0;
    if (details.kind === 'ok') lastEventId = details.lastEventId ?? '';
    const newStatus = status.kind === 'ok' && isOn('metrics') ? readStatus(status.document) : undefined;
    engineError = details.kind === 'refused' ? details.why : engineWords(newStatus?.engineError);
    if (decided.kind === 'ok') decisions = readDecisions(decided.document);
    const listed = details.kind === 'ok' ? withDecisions(readDetails(details.document), decisions) : containers.all();
    // Engines have names only if there are several.
    if (listed.some(({ engine }) => engine !== '')) {
      const engines = await ask('v1/engines', limits);
      if (engines.kind === 'ok') enginesAway = readEnginesAway(engines.document);
    }
    if (place < newest) return 'ok';
    performance.clearMarks('data');
    performance.mark('data');
    if (details.kind === 'ok' && newStatus?.engineError === undefined) readAtMs = nowMs();
    // Without status and events the page does not hear of the end of a run, so no container waits for one.
    const isDeaf = !isOn('metrics') && !isFollowing();
    onRead(containers.take(withEnginesAway(listed, enginesAway), isDeaf ? noStatus : newStatus, nowMs()));
    void readPagesAgain(newStatus === undefined ? lastRunAtMs : newStatus.lastRunAtMs);
    return 'ok';
  }

  /**
   * Reads the runs again if a run has ended since, because polling never hears of its end, and a stream may have missed
   * it. Reads each document again whose reading has failed.
   */
  async function readPagesAgain(endedAtMs: number | undefined): Promise<void> {
    const [hasRuns, hasOptions] = await Promise.all([
      ((endedAtMs !== lastRunAtMs && gaps.runs !== 'reading') || isFailed(gaps.runs)) && readRuns(),
      isFailed(gaps.options) && readOptions(),
    ]);
    if (hasRuns) lastRunAtMs = endedAtMs;
    if (hasRuns || hasOptions) onRead({ changed: [], added: [], removed: [] });
  }

  function away(why: string, waitMs = 0): 'unreachable' {
    awayWhy = why;
    retryAfterMs = waitMs;
    return 'unreachable';
  }

  /** False without an answer. */
  async function readRuns(): Promise<boolean> {
    if (!isOn('history')) return false;
    const reply = await ask('v1/history');
    if (reply.kind === 'ok') runs = readHistory(reply.document);
    return fillGap('runs', reply);
  }

  async function readOptions(): Promise<boolean> {
    if (!isOn('config')) return false;
    const reply = await ask('v1/config');
    if (reply.kind === 'ok') options = optionsIn(reply.document);
    return fillGap('options', reply);
  }

  /** Only the open drawer shows them, so only the last ones are kept. */
  async function readNotes(one: WatchedContainer): Promise<boolean> {
    const key = notesKey(one);
    if (one.notes?.state !== 'found' || whole?.key === key) return false;
    whole = { key, releases: undefined };
    const engine = one.engine === '' ? '' : `&engine=${encodeURIComponent(one.engine)}`;
    const reply = await ask(`v1/notes?full=true&container=${encodeURIComponent(one.ownName)}${engine}`);
    if (whole.key !== key) return false;
    whole = reply.kind === 'ok' ? { key, releases: readReleases(reply.document) } : undefined;
    return reply.kind === 'ok';
  }

  function fillGap(document: keyof typeof gaps, reply: Reply): boolean {
    if (reply.kind === 'ok') gaps[document] = undefined;
    else if (gaps[document] !== undefined) gaps[document] = { why: reasonOf(reply) };
    return reply.kind === 'ok';
  }

  return {
    read,
    readRuns,
    readOptions,
    readNotes,
    notesOf: (one) => (whole?.key === notesKey(one) ? whole.releases : undefined),
    readAtMs: () => readAtMs,
    lastEventId: () => lastEventId,
    engineError: () => engineError,
    enginesAway: () => enginesAway,
    awayWhy: () => awayWhy,
    isIntercepted: () => isIntercepted,
    retryAfterMs: () => retryAfterMs,
    runs: () => runs,
    options: () => options,
    gapOf: (document) => gaps[document],
  };
}

function isFailed(gap: Gap | undefined): boolean {
  return gap !== undefined && gap !== 'reading';
}

function engineWords(error: string | undefined): string | undefined {
  if (error === undefined || /^cannot/i.test(error)) return error;
  return `Cannot reach the container engine: ${error}`;
}

function refusalWords({ status, why, retryAfterMs }: Extract<Reply, { readonly kind: 'refused' }>): string {
  if (status !== 429) return `Upkeep refuses to answer: ${why}.`;
  const again = retryAfterMs === undefined ? 'later' : `in ${duration(retryAfterMs)}`;
  return `Too many requests. Try again ${again}.`;
}
