import {
  obsoleteDecisions,
  takeDecision,
  unreadableRemedy,
  decisionFor,
  describeHold,
  holdOf,
  decisionsOf,
  type Decision,
  type Decisions,
  type DecidedCandidate,
  type DecisionFault,
  type DecisionRequest,
  type DecisionRecord,
  type NotesVerdict,
} from '../../domain/decision/decisions.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { ReadOnlyOutside, Clock, SharedRecords } from '../../domain/outside/outside.ts';
import { candidateDigest, type CheckedContainer, type HoldSettings, type UnheldVerdict } from './checked-container.ts';
import { sentence } from '../../domain/text/words.ts';
import { createTimeZone, createWindows, type Windows } from '../../domain/decision/windows.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { type NotesSubject, summaryOf, verdictOnNotes } from '../../domain/notes/notes.ts';
import type { NotesService } from './notes.ts';
import type { WindowSetting } from '../../domain/settings/values/versions.ts';

/** `isKept` false: the decision could not be stored and ends with this process. */
type TakenDecision = Decision & { readonly isKept: boolean };

/**
 * The use cases about decisions. They throw a `ServiceError` if the stored ones cannot be read, and for no other failure
 * outside Upkeep.
 */
export type DecisionService = {
  /** Decisions in force, oldest first, including decisions of other processes. */
  readonly list: () => Promise<readonly Decision[]>;
  /** The newer version that a container waits for by the last check, by the container's name. */
  readonly candidateOf: (name: string) => DecidedCandidate | undefined;
  readonly take: (request: DecisionRequest) => Promise<TakenDecision | DecisionFault>;
  /** The withdrawn decision; undefined if there is none with this id. */
  readonly withdraw: (id: string, by?: string) => Promise<TakenDecision | undefined>;
  /** Ends decisions about versions that their container no longer waits for, as far as the check knows them all. */
  readonly endObsoleteDecisions: (checked: readonly CheckedContainer[]) => Promise<void>;
};

type Parts = Pick<ReadOnlyOutside, 'clock' | 'newId' | 'log'> & {
  readonly store: DecisionStore;
  readonly candidateOf: DecisionService['candidateOf'];
  readonly onChange: () => void;
};

export function createDecisionService({ store, clock, newId, log, candidateOf, onChange }: Parts): DecisionService {
  async function readAll(): Promise<Decisions> {
    const { decisions, fault } = await store.refresh();
    if (fault === undefined) return decisions;
    throw new ServiceError('state-unreadable', `Cannot read the decisions: ${fault}`, {
      remedy: unreadableRemedy,
    });
  }

  return {
    candidateOf,
    async list() {
      const decisions = [...(await readAll()).values()];
      const nowMs = clock.nowMs();
      return decisions.filter(({ untilMs }) => untilMs === undefined || untilMs > nowMs);
    },
    async take(request) {
      const candidate = candidateOf(request.container);
      await readAll();
      const taken = takeDecision(request, candidate, { id: newId(), nowMs: clock.nowMs() });
      if ('fault' in taken) return taken;
      const written = await store.write([{ kind: 'decided', decision: taken }]);
      const { kind, container, digest, by } = taken;
      log.info(`${pastOf[kind]} by ${by}`, { container, digest });
      onChange();
      return { ...taken, isKept: written === 'kept' };
    },
    async withdraw(id, by) {
      const decision = [...(await readAll()).values()].find((one) => one.id === id);
      if (decision === undefined) return undefined;
      const { container } = decision;
      const written = await store.write([{ kind: 'ended', container, id }]);
      log.info('A decision was withdrawn', { container, decision: decision.kind, digest: decision.digest, by });
      onChange();
      return { ...decision, isKept: written === 'kept' };
    },
    async endObsoleteDecisions(checked) {
      const { decisions, fault } = await store.refresh();
      if (decisions.size === 0 || fault !== undefined) return;
      const unclear = new Set(checked.flatMap((one) => (knowsNewest(one) ? [] : [one.name])));
      const candidates = new Map<string, Digest | undefined>();
      for (const one of checked.filter(({ name }) => !unclear.has(name))) {
        const decision = decisions.get(one.name);
        const meant = decidedDigest(one, decision);
        // A container and a service may have the same name.
        if (!candidates.has(one.name) || meant === decision?.digest) candidates.set(one.name, meant);
      }
      const dead = obsoleteDecisions(decisions, candidates, clock.nowMs());
      if (dead.length > 0)
        await store.write(dead.map(({ container, id }) => ({ kind: 'ended' as const, container, id })));
    },
  };
}

const pastOf = {
  approve: 'A new version was approved',
  skip: 'A new version is skipped',
  snooze: 'A new version was snoozed',
};

function knowsNewest({ status, hidesHigher }: CheckedContainer): boolean {
  return status !== 'unknown' && hidesHigher !== true;
}

/**
 * The version that a decision is about. While the newest version is too young, an older one may be applied, and a
 * person may decide about either. A tag that has moved back may come again, and a skipped version stays skipped then.
 */
function decidedDigest(checked: CheckedContainer, decision: Decision | undefined): Digest | undefined {
  const { updateAvailable, latestDigest, digest } = checked;
  const decided = decision?.digest;
  if (updateAvailable) return latestDigest === decided ? decided : candidateDigest(checked);
  return decision?.kind === 'approve' || digest === decided ? undefined : decided;
}

export type HoldRules = {
  /**
   * Judges a fresh verdict: adds the first reason why its newer version waits. Verdicts other than `stale` and `held`
   * stay as they are.
   */
  readonly judge: (
    checked: CheckedContainer,
    restraints: HoldSettings,
    known: KnownDecisions,
    nowMs: number,
  ) => CheckedContainer;
  /** Judges an earlier verdict again, by the present decisions and time. */
  readonly again: (checked: CheckedContainer, known: KnownDecisions, nowMs: number) => CheckedContainer;
};

export function createHoldRules(
  { timeZone }: Pick<ServiceSettings, 'timeZone'>,
  notes?: Pick<NotesService, 'of'>,
): HoldRules {
  const zone = createTimeZone(timeZone);
  const readBefore = new Map<string, Windows>();

  function windowsOf(setting: WindowSetting | undefined): Windows | { readonly fault: string } | undefined {
    if (setting === undefined || setting.kind === 'always') return undefined;
    if (setting.kind === 'unreadable') return setting;
    const windows = readBefore.get(setting.text) ?? createWindows(setting.windows, zone);
    if (readBefore.size >= maxKnown) readBefore.clear();
    readBefore.set(setting.text, windows);
    return windows;
  }

  /** With what is known of its release notes now. */
  function withNotes(checked: CheckedContainer): CheckedContainer {
    const { notesAt } = checked;
    if (notes === undefined || notesAt === undefined) return checked;
    return { ...checked, notes: summaryOf(notes.of(notesAt).notes) };
  }

  function verdictOn(notesAt: NotesSubject | undefined): NotesVerdict | undefined {
    if (notes === undefined || notesAt === undefined) return undefined;
    const known = notes.of(notesAt);
    return verdictOnNotes(notesAt, known.notes, known.seenAtMs);
  }

  function judge(
    found: CheckedContainer,
    restraints: HoldSettings,
    { decisions, fault }: KnownDecisions,
    nowMs: number,
  ): CheckedContainer {
    const checked = withNotes(found);
    const { status, reason, hold, eligibleAtMs } = checked;
    const isYoung = status === 'held' && hold === 'cooldown';
    if (status !== 'stale' && !isYoung) return checked;
    const unrestrained: UnheldVerdict = {
      ...restraints,
      status,
      reason,
      eligibleAtMs,
      ...(hold !== undefined && { hold }),
    };
    const { name: container } = checked;
    const digest = candidateDigest(checked);
    const said = verdictOn(checked.notesAt);
    const held = holdOf({
      candidateKind: checked.candidateKind ?? 'digest',
      approval: restraints.approval,
      notes: said,
      unreadable: fault,
      decision: digest && decisionFor(decisions, { container, digest, nowMs }),
      // A cooldown has its own end and its own message.
      windows: isYoung ? undefined : windowsOf(restraints.window),
      nowMs,
    });
    if (held === undefined) {
      const isUnread = restraints.approval.breaking && said?.kind === 'unread' && said.endsAtMs !== undefined;
      return { ...checked, unrestrained, ...(isUnread && { reason: `${reason}; ${said.why}` }) };
    }
    return {
      ...checked,
      unrestrained,
      status: 'held',
      hold: held.kind,
      reason: sentence(describeHold(held, container)),
      ...('because' in held && { holdBecause: held.because }),
      eligibleAtMs: 'releasedAtMs' in held ? held.releasedAtMs : undefined,
    };
  }

  return {
    judge,
    again(checked, known, nowMs) {
      const { unrestrained, ...rest } = checked;
      if (unrestrained === undefined) return withNotes(checked);
      const { approval, window, ...verdict } = unrestrained;
      const { hold: _, holdBecause: _because, ...unheld } = rest;
      return judge({ ...unheld, ...verdict }, { approval, window }, known, nowMs);
    },
  };
}

/** Number of different label texts. Fleets have far fewer. */
const maxKnown = 1000;

/**
 * Why one of the checked containers must not be replaced now, though its check allowed it: a window has closed, or a
 * person has decided otherwise since.
 */
export type FinalHoldCheck = (containers: readonly CheckedContainer[]) => Promise<string | undefined>;

export function createFinalHoldCheck({ store, holdBack, clock }: FinalHoldParts): FinalHoldCheck {
  return async (containers) => {
    const stale = containers.filter(({ status }) => status === 'stale');
    if (stale.length === 0) return undefined;
    const known = await store.refresh();
    const nowMs = clock.nowMs();
    return stale.map((one) => holdBack.again(one, known, nowMs)).find(({ status }) => status === 'held')?.reason;
  };
}

type FinalHoldParts = {
  readonly store: DecisionStore;
  readonly holdBack: HoldRules;
  readonly clock: Pick<Clock, 'nowMs'>;
};

/** The decisions that this process knows. */
type KnownDecisions = {
  readonly decisions: Decisions;
  /** Why the stored ones cannot be read: any version may have been skipped then. */
  readonly fault: string | undefined;
};

/** The decisions of people. */
export type DecisionStore = {
  /** Reads the decisions that other processes have written. Never throws. */
  readonly refresh: () => Promise<KnownDecisions>;
  /** Decisions as of the last refresh and the writes of this process. */
  readonly known: () => KnownDecisions;
  /** `not-kept`: the decision was not stored and ends with this process. */
  readonly write: (records: readonly DecisionRecord[]) => Promise<'kept' | 'not-kept'>;
};

/** Without a store, decisions are kept in memory. */
export function createDecisionStore(store?: SharedRecords<DecisionRecord>): DecisionStore {
  let read: readonly DecisionRecord[] = [];
  let unkept: readonly DecisionRecord[] = [];
  let known: KnownDecisions = { decisions: new Map(), fault: undefined };

  function note(): KnownDecisions {
    known = { decisions: decisionsOf([...read, ...unkept]), fault: store?.fault() };
    return known;
  }

  async function refresh(): Promise<KnownDecisions> {
    const now = (await store?.read()) ?? read;
    if (now === read && store?.fault() === known.fault) return known;
    read = now;
    return note();
  }

  return {
    refresh,
    known: () => known,
    async write(records) {
      const written = store === undefined ? 'not-kept' : await store.append(records);
      if (written === 'kept') {
        // Unstored decisions about the same containers are older than these.
        const over = new Set(records.map(containerOf));
        unkept = unkept.filter((record) => !over.has(containerOf(record)));
        read = (await store?.read()) ?? read;
      } else {
        unkept = [...unkept, ...records].slice(-maxUnkept);
      }
      note();
      return written;
    },
  };
}

/** The same limit as for stored decisions. */
const maxUnkept = 10_000;

function containerOf(record: DecisionRecord): string {
  return record.kind === 'decided' ? record.decision.container : record.container;
}
