import { defined } from '../../domain/text/plain-data.ts';
import type { CopyProgress } from '../../domain/run/event.ts';
import type { WhileAwaitingHealth, ImageAhead } from './create-successor.ts';
import { transact, type TransactOptions } from './transact.ts';
import type { Outside, Clock, Log } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, UpdatePhase, PhaseTimes } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { PlannedTransaction, PlannedMember, UpdatePlan } from '../../domain/plan/update-plan.ts';
import {
  announceEnd,
  announcePhase,
  announceStart,
  failuresOf,
  rememberFailures,
  linksOf,
  describeLostLinks,
  describeMember,
  outcomeOf,
  unprepared,
  withDataRemark,
} from './outcomes.ts';
import { prepareTransaction, type PreparedMember, type PreparedTransaction } from './prepare.ts';
import type { DataFigures } from '../../domain/transaction/data-helper.ts';
import type { HelperOrder } from '../../domain/self-update/helper.ts';
import { handOver } from './hand-over.ts';
import { keepOrderOf, startOrderOf } from '../../domain/plan/replacement.ts';
import { opened, memberFromPlan, type OpenTransaction } from './open-transaction.ts';
import { stopAndHealthPolicyOf } from '../health/health.ts';
import { describeWithRemedy } from '../../domain/text/errors.ts';

export type RunTransaction = typeof runTransaction;

/**
 * Updates one group to its new images, or leaves it unchanged. Never throws for failures outside Upkeep. Returns one
 * outcome per member, in the plan's order.
 */
export async function runTransaction(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  { runId, handedOver, whileUnproven, ahead, keepsFormerCopies = false }: TransactionRun,
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  for (const { container, reference, formerReference, digest } of planned.members) {
    announceStart(outside, runId, {
      name: container.name,
      image: reference,
      formerImage: formerReference,
      from: container.imageId,
      to: digest ?? '',
    });
  }
  const phases = createPhaseWatch(outside.clock);
  for (const { container } of planned.members) {
    const image = ahead?.get(container.id);
    if (image?.kind === 'fetched') phases.add(container.name, 'pulling', image.tookMs);
  }
  const enter: EnterPhase = (container, phase, copied) => {
    phases.enter(container, phase);
    const member = planned.members.find((one) => one.container.name === container);
    const windowMs =
      phase === 'checking health' && member !== undefined
        ? stopAndHealthPolicyOf(member.container, settings).healthWindowMs
        : undefined;
    announcePhase(outside, runId, container, phase, defined({ windowMs, copied }));
  };
  const reached = await replaceContainers(
    outside,
    settings,
    planned,
    { runId, enter, handedOver, whileUnproven, ahead, keepsFormerCopies },
    signal,
  );
  const outcomes = reached.map((outcome) => {
    const times = phases.read(outcome.name);
    return times === undefined ? outcome : withDataRemark({ ...outcome, phases: times });
  });
  for (const outcome of outcomes) announceEnd(outside, runId, outcome);
  return outcomes;
}

export type TransactionRun = {
  readonly runId: string;
  /** Set for an update that a helper finishes. */
  readonly handedOver?: HandedOver | undefined;
  readonly whileUnproven?: WhileAwaitingHealth | undefined;
  /** Images that were pulled before the first transaction of the run, by container id. */
  readonly ahead?: ReadonlyMap<string, ImageAhead> | undefined;
  /** Whether copies of the data by earlier updates stay. */
  readonly keepsFormerCopies?: boolean;
};

export type HandedOver =
  /** `onTaken` is called once the helper has taken the update over. */
  | { readonly kind: 'self'; readonly onTaken: () => void }
  | {
      readonly kind: 'door';
      /** The container with the engine's socket. */
      readonly socketOf: string;
      /** Waits for the end of the helper. Never throws. */
      readonly awaitEnd: (door: AwaitedDoor, signal?: AbortSignal) => Promise<HelperEnd>;
      /** Called if the helper is still at work then. */
      readonly onLeft: () => void;
    };

/** `startedAt`: the last start of the old container, by the engine's clock. */
export type AwaitedDoor = Pick<HelperOrder, 'transaction' | 'name'> & { readonly startedAt: string };

/** `none`: the helper is still at work, or its result is unknown. `words`: the reason, or the last lines of its log. */
export type HelperEnd = {
  readonly result: 'finished' | 'undone' | 'untouched' | 'none';
  readonly words: string;
  readonly newContainerId?: string;
};

type Attempt = TransactionRun & {
  readonly enter: EnterPhase;
  /** The first attempt was undone, because the tag was moved. */
  readonly isSecond?: boolean;
};

type EnterPhase = (container: string, phase: UpdatePhase, copied?: CopyProgress) => void;

async function replaceContainers(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  run: Attempt,
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  const { runId, enter, handedOver, whileUnproven, ahead, keepsFormerCopies = false, isSecond = false } = run;
  let prepared: PreparedTransaction;
  try {
    prepared = await prepareTransaction(
      outside,
      settings,
      planned,
      {
        runId,
        onPull: (name) => enter(name, 'pulling'),
        ahead,
        removesAll: handedOver !== undefined,
        isForHelper: handedOver !== undefined,
        keepsFormerCopies,
      },
      signal,
    );
  } catch (error) {
    return planned.members.map((member) => unprepared(member, planned, error, signal));
  }
  if (prepared.members.every(({ planned: { container }, image }) => image.id === container.imageId)) {
    return prepared.members.map((member) => ({
      ...describeMember(member),
      outcome: 'fresh',
      reason: 'the newer digest holds the same image',
      newImageId: member.image.id,
    }));
  }
  const transaction = beginTransaction(outside, settings, prepared, {
    ...planned,
    isForHelper: handedOver !== undefined,
  });
  const onPhase: TransactOptions['onPhase'] = (phase, copied) => {
    for (const { planned: member } of prepared.members) enter(member.container.name, phase, copied);
  };
  const result = await transact({
    outside,
    settings,
    signal,
    transaction,
    onPhase,
    whileUnproven,
    mode: { kind: handedOver === undefined ? 'update' : 'hand-over', prepared },
  });
  // An instance that starts may take a slow update for a dead one, and move its tag back, while others give way to it.
  const mayTryAgain = result.result === 'undone' && result.wasTagMoved && !isSecond;
  if (mayTryAgain) return replaceContainers(outside, settings, planned, { ...run, isSecond: true }, signal);
  if (result.result === 'needsHelper' && handedOver !== undefined)
    return [await handOverToHelper({ outside, settings, prepared, transaction, onPhase, handedOver, signal })];
  const failures = failuresOf(transaction, result.failedImages);
  await rememberFailures(outside, failures);
  const rolledBack = new Set(failures.map(({ name }) => name));
  const reached = prepared.members.map((member, index): ContainerOutcome => {
    const outcome = outcomeOf(member, { result, index, transaction, cleanup: settings.cleanup });
    return rolledBack.has(outcome.name) ? { ...outcome, isTakenBack: true } : outcome;
  });
  // Until the rollback is complete, links have the names of containers that are not back yet.
  if (result.result !== 'undone') return reached;
  return Promise.all(reached.map((outcome, index) => withLostLinks(outside, outcome, prepared.members[index])));
}

type HandOverOptions = Pick<TransactOptions, 'outside' | 'settings' | 'transaction' | 'onPhase' | 'signal'> & {
  readonly prepared: PreparedTransaction;
  readonly handedOver: HandedOver;
};

/**
 * Hands the update of our own container or of a door, its only member, to a helper. If no helper can be started, the
 * successor is removed and nothing has changed.
 */
async function handOverToHelper({
  prepared,
  handedOver,
  signal,
  ...options
}: HandOverOptions): Promise<ContainerOutcome> {
  const [member] = prepared.members;
  if (member === undefined) throw new Error('a transaction without members');
  const { container, reference } = member.planned;
  const base = { ...describeMember(member), newImageId: member.image.id };
  const order = {
    transaction: options.transaction.id,
    name: container.name,
    oldId: container.id,
    oldImageId: container.imageId,
    newImageId: member.image.id,
    reference,
  };
  const failure = await handOver(options.outside, order, handedOver.kind === 'door' ? handedOver : member);
  if (failure !== undefined) {
    const undone = await transact({ ...options, mode: { kind: 'recover' } });
    const remark = undone.result === 'undone' ? '' : `; ${undone.reason}: the next run or start of Upkeep tries again`;
    return { ...base, outcome: 'failed', reason: `${failure}${remark}` };
  }
  if (handedOver.kind === 'self') {
    handedOver.onTaken();
    const reason = 'Upkeep itself: a helper container finishes this update, and the next start reports the result';
    return { ...base, outcome: 'deferred', reason };
  }
  options.onPhase('stopping');
  const end = await handedOver.awaitEnd({ ...order, startedAt: container.state.startedAt }, signal);
  if (end.result === 'none') handedOver.onLeft();
  return outcomeOfHelper({ ...base, image: reference }, end);
}

function outcomeOfHelper(
  base: Omit<ContainerOutcome, 'outcome' | 'reason'>,
  { result, words, newContainerId }: HelperEnd,
): ContainerOutcome {
  const because = words === '' ? '' : `: ${words}`;
  switch (result) {
    case 'finished':
      return { ...base, outcome: 'updated', reason: '', ...defined({ newContainerId }) };
    case 'undone':
      return { ...base, outcome: 'rolled_back', reason: `its helper has put the old version back${because}` };
    case 'untouched':
      return { ...base, outcome: 'failed', reason: `its helper has not replaced it${because}` };
    case 'none':
      return { ...base, outcome: 'deferred', reason: `a helper container finishes this update${because}` };
  }
}

/**
 * Adds lost links to the outcomes. New containers were compared; an old one that came back may lack links that the
 * engine lost when it was killed.
 */
async function withLostLinks(
  outside: Outside,
  outcome: ContainerOutcome,
  member: PreparedMember | undefined,
): Promise<ContainerOutcome> {
  if (member === undefined || (outcome.outcome !== 'rolled_back' && outcome.outcome !== 'failed')) return outcome;
  const { container } = member.planned;
  return { ...outcome, reason: outcome.reason + (await describeLostLinks(outside, container.id, linksOf(container))) };
}

/** The time that containers spend in each phase of their update. */
type PhaseWatch = {
  /** Enters a phase and ends the one before. */
  readonly enter: (container: string, phase: UpdatePhase) => void;
  /** Adds the time of a phase that has already ended. */
  readonly add: (container: string, phase: UpdatePhase, ms: number) => void;
  /** The times so far. Undefined for a container without a phase. */
  readonly read: (container: string) => PhaseTimes | undefined;
};

export function createPhaseWatch(clock: Pick<Clock, 'monotonicMs'>): PhaseWatch {
  const ended = new Map<string, PhaseTimes>();
  const current = new Map<string, { readonly phase: UpdatePhase; readonly sinceMs: number }>();

  function read(container: string): PhaseTimes | undefined {
    const times = ended.get(container);
    const last = current.get(container);
    if (last === undefined) return times;
    return { ...times, [last.phase]: (times?.[last.phase] ?? 0) + clock.monotonicMs() - last.sinceMs };
  }

  return {
    enter(container, phase) {
      const times = read(container);
      if (times !== undefined) ended.set(container, times);
      current.set(container, { phase, sinceMs: clock.monotonicMs() });
    },
    add: (container, phase, ms) => void ended.set(container, { ...ended.get(container), [phase]: ms }),
    read,
  };
}

/** A transaction that is about to begin and has left nothing in the engine yet. */
function beginTransaction(
  { newId, log }: Pick<Outside, 'newId' | 'log'>,
  settings: ServiceSettings,
  { members, info, forbidden, data: prepared }: PreparedTransaction,
  planned: PlannedTransaction & { readonly isForHelper: boolean },
): OpenTransaction {
  // Two running Upkeeps would both recover the same remains.
  const { isForHelper } = planned;
  const isInGroup = members.length > 1;
  const setsNoMarks = forbidden.includes('untag') ? true : undefined;
  const { abilities } = info;
  const open = members.map((member) => {
    const { container } = member.planned;
    const fromPlan = memberFromPlan(member, planned);
    const mayOverlap = !isInGroup && !isForHelper && mayStartFirst(member.planned, settings, log);
    const startsFirst = mayOverlap && prepared === undefined;
    if (mayOverlap && !startsFirst)
      log.info('A container is stopped before its successor starts', {
        container: container.name,
        because: 'its data is copied, so nothing else may write to it',
      });
    const autoRemoves = fromPlan.autoRemoves || fromPlan.needsAutoRemoveReplica;
    const { keepMs, reason } = keepOrderOf(container, { settings, abilities, isInGroup, isForHelper, autoRemoves });
    if (reason !== undefined)
      log.info('A container is not kept after its update', { container: container.name, because: `It ${reason}` });
    const data = prepared && { ...prepared.data, keepMs: Math.max(prepared.data.keepMs, keepMs) };
    return {
      ...fromPlan,
      startsFirst,
      keepMs,
      ...(data !== undefined && { data }),
      ...(setsNoMarks && { hasNoMark: true as const }),
    };
  });
  const transaction = opened({ id: newId(), members: open, setsNoMarks }, info);
  // The first steps, mark and create, change nothing that exists. All facts are read after them.
  for (const { planned: one } of members)
    transaction.readBefore.set(one.container.id, { container: one.container, untilMs: Infinity });
  return transaction;
}

function mayStartFirst(
  { container, desiredEndState, data }: PlannedMember,
  settings: ServiceSettings,
  log: Pick<Log, 'info'>,
): boolean {
  const order = startOrderOf(container, settings, { savesData: data !== undefined && data.items.length > 0 });
  if (order.kind === 'impossible') {
    log.info('A container is stopped before its successor starts', {
      container: container.name,
      because: order.reason,
    });
  }
  return order.kind === 'start-first' && desiredEndState === 'running';
}

/** The result of the rehearsal of one group. Its successors were created under temporary names and compared. */
export type Rehearsal = {
  readonly containers: readonly string[];
  /** True if the successors match the containers that they would replace. */
  readonly faithful: boolean;
  /** The differences, or why no comparison was possible. Empty for a faithful rehearsal. */
  readonly reason: string;
  /** The measured size of its data. Absent: no data are copied. */
  readonly figures?: DataFigures;
};

/**
 * Rehearses each update without a change to existing containers: pulls the image, creates the successor under a
 * temporary name, compares and removes it. The tag is moved meanwhile, because the engine creates from tags.
 */
export async function rehearsePlan(
  outside: Outside,
  settings: ServiceSettings,
  plan: UpdatePlan,
  { runId }: { readonly runId: string },
  signal?: AbortSignal,
): Promise<readonly Rehearsal[]> {
  const rehearsals: Rehearsal[] = [];
  for (const planned of plan.transactions) {
    const containers = planned.members.map(({ container }) => container.name);
    const { reason, figures } = await rehearse(outside, settings, planned, runId, signal);
    rehearsals.push({ containers, faithful: reason === '', reason, ...defined({ figures }) });
  }
  return rehearsals;
}

async function rehearse(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  runId: string,
  signal?: AbortSignal,
): Promise<{ readonly reason: string; readonly figures?: DataFigures | undefined }> {
  let prepared: PreparedTransaction;
  try {
    prepared = await prepareTransaction(
      outside,
      settings,
      planned,
      { runId, onPull: () => {}, removesAll: true },
      signal,
    );
  } catch (error) {
    return { reason: describeWithRemedy(error) };
  }
  const transaction = await withTagsOfNow(
    outside,
    beginTransaction(outside, settings, prepared, { ...planned, isForHelper: false }),
  );
  const { result, reason, isRehearsed, figures } = await transact({
    outside,
    settings,
    transaction,
    mode: { kind: 'rehearse', prepared },
    onPhase: () => {},
    signal,
  });
  if (result !== 'undone')
    return { reason: reason === '' ? 'the new containers of the rehearsal could not be removed' : reason };
  return { reason: isRehearsed ? '' : reason, figures };
}

/**
 * Records the tags as they are now. A failed update sets the tag to the image that the container runs, but a rehearsal
 * must restore it exactly. A tag that did not exist cannot be removed without the pulled image.
 */
async function withTagsOfNow({ engine }: Outside, transaction: OpenTransaction): Promise<OpenTransaction> {
  const members = await Promise.all(
    transaction.members.map(async (member) => ({
      ...member,
      taggedBefore: (await engine.inspectImage(member.reference))?.id ?? member.taggedBefore,
    })),
  );
  return { ...transaction, members };
}
