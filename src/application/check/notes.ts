import {
  addressOf,
  commonForges,
  type ForgeKind,
  type NotesSource,
  type Repository,
} from '../../domain/image/image-source.ts';
import {
  type Forges,
  type NotedRelease,
  type Notes,
  type NotesAnswer,
  type NotesSubject,
  type NotesSummary,
  type StepAnswer,
  summaryOf,
} from '../../domain/notes/notes.ts';
import { readRelease } from '../../domain/notes/read-release.ts';
import { maxStored, maxStoredBytes, type StoredNotes } from '../../domain/notes/stored-notes.ts';
import type { Step } from '../../domain/notes/releases.ts';
import type { Clock, Log, SharedRecords } from '../../domain/outside/outside.ts';
import { orAborted } from '../../domain/concurrency.ts';
import { addTo, defined } from '../../domain/text/plain-data.ts';
import type { CheckedContainer } from './checked-container.ts';
import { mapConcurrently } from '../async/concurrency.ts';

/** The notes of a step, as far as they are known. `seenAtMs`: when it was first seen; undefined for notes that nobody reads. */
type KnownNotes = { readonly notes: Notes; readonly seenAtMs: number | undefined };

/** The notes of a container's newer version. */
export type ContainerNotes = Pick<
  CheckedContainer,
  'name' | 'engine' | 'image' | 'version' | 'latestVersion' | 'candidate'
> &
  Pick<Notes, 'releases'> & { readonly summary: NotesSummary };

/** Release notes of newer versions. No method waits for a forge, except `readNow`. */
export type NotesService = {
  /** The number of requests by host and result, such as `github.com answered`. Absent: nobody counts. */
  readonly requests?: ReadonlyMap<string, number>;
  /** The hosts that may be asked. */
  readonly hosts: ReadonlyMap<string, ForgeKind>;
  /** The present knowledge, without a request. */
  readonly of: (subject: NotesSubject) => KnownNotes;
  /** The same for a checked container. Undefined without a newer version. */
  readonly about: (checked: CheckedContainer) => ContainerNotes | undefined;
  /** Reads the notes that are missing or due, in the background. */
  readonly consider: (subjects: readonly NotesSubject[]) => void;
  /** Resolves when notes that were never read have been read, or in vain; after 15 s at most. */
  readonly readNow: (subjects: readonly NotesSubject[], signal?: AbortSignal) => Promise<void>;
  /** Calls the listener after notes have changed. */
  readonly onChange: (listener: () => void) => void;
  /** Takes the notes of an earlier process. */
  readonly load: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Parts = {
  readonly forges: Forges;
  /** Besides those that everyone knows. */
  readonly hosts?: ReadonlyMap<string, ForgeKind>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'debug' | 'warn'>;
  readonly store: SharedRecords<StoredNotes> | undefined;
  /** Whether the process lives on, so that notes are read again when they are due. */
  readonly isService: boolean;
};

/**
 * Keeps the notes of steps between versions, and reads all steps of a repository with one question. Notes are read again
 * after an hour while the newest release is young, because authors edit them, else after a day; failures after 15
 * minutes, doubling to six hours.
 */
export function createNotes({ forges, hosts = new Map(), clock, log, store, isService }: Parts): NotesService {
  const known = new Map<string, StoredNotes & { readonly bytes: number }>();
  /** The steps of the last check, which are read again when due. */
  let wanted = new Map<string, Wanted>();
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  let loading: Promise<void> | undefined;
  let reading: Promise<void> | undefined;
  let wake = new AbortController();
  const warnedHosts = new Map<string, number>();

  function keep(one: StoredNotes): void {
    known.delete(one.key);
    known.set(one.key, { ...one, bytes: JSON.stringify(one).length });
    let bytes = [...known.values()].reduce((sum, each) => sum + each.bytes, 0);
    for (const [key, each] of known) {
      if (known.size <= maxStored && bytes <= maxStoredBytes) break;
      known.delete(key);
      bytes -= each.bytes;
    }
  }

  function isDue({ key }: Wanted): boolean {
    return (known.get(key)?.dueAtMs ?? 0) <= clock.nowMs();
  }

  /** Reads everything that is due, repository by repository. */
  async function readDue(steps: readonly Wanted[], signal: AbortSignal): Promise<void> {
    const byRepository = new Map<string, Wanted[]>();
    for (const one of steps.filter(isDue)) addTo(byRepository, addressOf(one.repository), one);
    await mapConcurrently([...byRepository.values()], maxAtOnce, (ones) => readOne(ones, signal));
  }

  async function readOne(steps: readonly Wanted[], signal: AbortSignal): Promise<void> {
    const [first] = steps;
    if (first === undefined) return;
    const etags = new Set(steps.map(({ key }) => known.get(key)?.etag));
    const [etag] = etags.size === 1 ? etags : [];
    const { repository } = first;
    const answer = await forges.read({ repository, steps: steps.map(({ step }) => step), etag }, signal);
    if (answer.kind === 'failed') warnOnceADay(repository.host, answer.reason);
    const nowMs = clock.nowMs();
    const stored = steps.map((one, at) => storedOf(one, answer, at, known.get(one.key), nowMs));
    for (const one of stored) keep(one);
    void store?.append(stored);
    for (const listener of listeners) listener();
  }

  function warnOnceADay(host: string, reason: string): void {
    const nowMs = clock.nowMs();
    const isKnown = (warnedHosts.get(host) ?? -dayMs) > nowMs - dayMs;
    log[isKnown ? 'debug' : 'warn']('Release notes cannot be read', { host, reason });
    if (!isKnown) warnedHosts.set(host, nowMs);
  }

  /** One loop, which ends when nothing more will be due in a process that ends. */
  async function keepReading(): Promise<void> {
    for (;;) {
      await loading;
      // Made before the reading, so that steps that are seen meanwhile do not wait for the next due time.
      wake = new AbortController();
      await readDue([...wanted.values()], closing.signal);
      if (!isService || closing.signal.aborted) return;
      const next = Math.min(...[...wanted.keys()].map((key) => known.get(key)?.dueAtMs ?? 0));
      const waitMs = Math.min(Math.max(next - clock.nowMs(), minWaitMs), maxWaitMs);
      await clock.sleep(waitMs, AbortSignal.any([closing.signal, wake.signal])).catch(() => undefined);
    }
  }

  function begin(): void {
    reading ??= keepReading()
      .catch((error: unknown) => {
        if (!closing.signal.aborted) log.warn('No more release notes are read until the next check', { error });
      })
      .finally(() => (reading = undefined));
    wake.abort();
  }

  function see(subjects: readonly NotesSubject[]): readonly Wanted[] {
    const steps = subjects.flatMap((subject) => wantedOf(subject) ?? []).slice(0, maxStored);
    for (const one of steps) if (!known.has(one.key)) keep(firstSight(one, clock.nowMs()));
    return steps;
  }

  function of(subject: NotesSubject): KnownNotes {
    const wantedStep = wantedOf(subject);
    if (wantedStep === undefined) return { notes: withoutReading(subject), seenAtMs: undefined };
    const found = known.get(wantedStep.key);
    return { notes: found?.notes ?? unread(wantedStep), seenAtMs: found?.seenAtMs ?? clock.nowMs() };
  }

  return {
    hosts: new Map([...hosts, ...commonForges]),
    of,
    about({ notesAt, name, engine, image, version, latestVersion, candidate }) {
      if (notesAt === undefined) return undefined;
      const found = of(notesAt).notes;
      const shown = defined({ engine, version, latestVersion, candidate });
      return { name, image, ...shown, releases: found.releases, summary: summaryOf(found) };
    },
    consider(subjects) {
      const steps = see(subjects);
      if (steps.length === 0) return;
      // A check of one container must not end the reading for others.
      const merged = new Map([...wanted, ...steps.map((one) => [one.key, one] as const)]);
      wanted = new Map([...merged].slice(-maxStored));
      if (isService) begin();
    },
    async readNow(subjects, signal) {
      await loading;
      const steps = see(subjects).filter(({ key }) => known.get(key)?.notes.readAtMs === undefined);
      const deadline = new AbortController();
      const timer = clock.sleep(readNowMs, deadline.signal).then(
        () => deadline.abort(),
        () => undefined,
      );
      const ending = [closing.signal, deadline.signal, ...(signal === undefined ? [] : [signal])];
      const ended = AbortSignal.any(ending);
      await orAborted(readDue(steps, ended), ended).catch(() => undefined);
      deadline.abort();
      await timer;
      signal?.throwIfAborted();
    },
    onChange: (listener) => void listeners.add(listener),
    load() {
      loading ??= (store?.read() ?? Promise.resolve([])).then((stored) => {
        for (const one of stored) if (!known.has(one.key)) keep(one);
      });
      return loading;
    },
    async close() {
      closing.abort();
      await reading;
      await forges.close();
    },
  };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minWaitMs = 60_000;
const maxWaitMs = dayMs;
const readNowMs = 15_000;
const maxAtOnce = 4;

type Wanted = {
  readonly key: string;
  readonly repository: Repository;
  readonly step: Step;
  readonly source: Extract<NotesSource, { readonly kind: 'repository' }>;
};

/** Undefined: nothing can be read. */
function wantedOf(subject: NotesSubject): Wanted | undefined {
  if (subject.kind !== 'step' || subject.step === undefined || subject.source.kind !== 'repository') return undefined;
  const { source, step } = subject;
  const form = { ...step, ...(source.tagForm !== undefined && { tagForm: source.tagForm }) };
  const { repository } = source;
  return { key: JSON.stringify([addressOf(repository), form]), repository, step: form, source };
}

function firstSight(one: Wanted, nowMs: number): StoredNotes {
  return { key: one.key, notes: unread(one), seenAtMs: nowMs, dueAtMs: nowMs, failures: 0 };
}

function unread({ source, repository }: Wanted): Notes {
  return { ...named(source.from, repository), state: 'unread', releases: [], more: 0 };
}

function named(from: Wanted['source']['from'], repository: Repository) {
  return { source: addressOf(repository), sourceFrom: from, url: addressOf(repository, 'releases') };
}

function withoutReading(subject: NotesSubject): Notes {
  const nothing = { releases: [], more: 0 };
  if (subject.kind !== 'step') return { state: subject.kind === 'off' ? 'off' : 'none', ...nothing };
  const { source } = subject;
  if (source.kind === 'unknown') return { state: 'no-source', ...nothing };
  if (source.kind === 'repository') return { ...named(source.from, source.repository), state: 'none', ...nothing };
  const page = source.page === undefined ? {} : { source: source.page, url: source.page };
  return { state: 'none', sourceFrom: source.from, ...page, ...nothing };
}

function storedOf(
  one: Wanted,
  answer: NotesAnswer,
  at: number,
  before: StoredNotes | undefined,
  nowMs: number,
): StoredNotes {
  const { key } = one;
  const seen = { key, seenAtMs: before?.seenAtMs ?? nowMs };
  if (answer.kind === 'failed') {
    const failures = (before?.failures ?? 0) + 1;
    const pauseMs = Math.min(15 * 60_000 * 2 ** Math.min(failures - 1, 10), 6 * hourMs);
    const retryAtMs = Math.round(answer.retryAtMs ?? nowMs + pauseMs);
    // Notes that were read before are better than none.
    const isKnown = before !== undefined && before.notes.state !== 'unread';
    const notes = isKnown ? before.notes : { ...unread(one), error: answer.reason, retryAtMs };
    return { ...seen, notes, dueAtMs: retryAtMs, failures };
  }
  if (answer.kind === 'unchanged' && before !== undefined) {
    const notes = { ...before.notes, readAtMs: nowMs };
    return { ...before, notes, dueAtMs: nowMs + lifeOf(notes, nowMs), failures: 0 };
  }
  const step = answer.kind === 'read' ? answer.steps[at] : undefined;
  const notes = { ...notesOf(one, step, answer.kind === 'missing'), readAtMs: nowMs };
  const etag = answer.kind === 'read' && answer.etag !== undefined ? { etag: answer.etag } : {};
  return { ...seen, notes, dueAtMs: nowMs + lifeOf(notes, nowMs), failures: 0, ...etag };
}

function notesOf(one: Wanted, step: StepAnswer | undefined, isMissing: boolean): Notes {
  const place = named(one.source.from, one.repository);
  if (step?.kind === 'found') {
    const releases = step.releases.map((release): NotedRelease => ({
      ...release,
      ...readRelease(release.title, release.blocks),
    }));
    const [newest] = releases;
    const url = newest?.url ?? place.url;
    const isEmpty = releases.every((release) => release.isEmpty && release.breaking.length === 0);
    const lacks = step.lacksOlder && { lacksOlder: step.lacksOlder };
    if (!isEmpty) return { ...place, state: 'found', releases, more: step.more, ...lacks, url };
    const error = `${one.repository.host}: the releases have no text of their own`;
    return { ...place, state: 'unread', releases, more: step.more, url, error };
  }
  // A guess from the name of an image is right only with a release of exactly this version.
  if (one.source.from === 'image name') return { state: 'no-source', releases: [], more: 0 };
  const error = isMissing ? { error: `${one.repository.host}: there is no such repository, or it is private` } : {};
  return { ...place, state: 'none', releases: [], more: 0, ...(step && { url: step.url }), ...error };
}

function lifeOf({ state, releases }: Notes, nowMs: number): number {
  if (state !== 'found') return 6 * hourMs;
  const newestMs = Math.max(...releases.map(({ publishedAtMs = 0 }) => publishedAtMs));
  return newestMs > nowMs - 7 * dayMs ? hourMs : dayMs;
}
