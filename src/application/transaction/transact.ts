import { describeError, ServiceError } from '../../domain/errors.ts';
import type { UpdatePhase } from '../../domain/run/event.ts';
import { lastWords } from '../../domain/text/last-words.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import {
  type Course,
  decide,
  type Decision,
  type MemberFacts,
  type Place,
  type Step,
  type StepKind,
  type StepOf,
  stepKey,
  type TransactionFacts,
} from '../../domain/transaction/transaction.ts';
import { parseStandingName } from '../../domain/transaction/transaction-names.ts';
import { type OpenTransaction, readFacts } from './facts.ts';
import { firstToEnd } from './first-to-end.ts';
import type { PreparedTransaction } from './prepare.ts';
import { createPruneWatch } from './prune-watch.ts';
import { performers, type StepOutcome } from './steps.ts';

export type TransactOptions = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  /** With it the transaction goes forward; without, it is a recovery. */
  readonly prepared: PreparedTransaction | undefined;
  /** A transaction that was committed goes back to the old container that it has kept. */
  readonly reopens?: boolean;
  /** Goes back as soon as something would be done to a container that was there before. */
  readonly isRehearsal?: boolean;
  /** `begun`: ends as `aside` there, too, because another process goes on. `taken`: goes on where that was. */
  readonly handedOver?: 'begun' | 'taken' | undefined;
  readonly onPhase: (phase: UpdatePhase) => void;
  /** Heard only while nothing has been stopped: then everything goes back. */
  readonly signal?: AbortSignal | undefined;
};

export type TransactResult = {
  /** `aside`: what comes next would touch our own container, which only a helper can do. */
  readonly result: 'committed' | 'undone' | 'stuck' | 'aside';
  /** Why it went back or got stuck; empty otherwise. */
  readonly reason: string;
  /** A rehearsal came as far as it was to come. */
  readonly isRehearsed: boolean;
  /** It was in nobody's power here: another instance or a person was at it. */
  readonly busy: boolean;
  /** Whether any container was stopped on the way. */
  readonly stopped: boolean;
  /** Ids of the olds that this transaction has moved aside: until then it has changed nothing of them. */
  readonly parked: ReadonlySet<string>;
  readonly facts: TransactionFacts | undefined;
  /** The engine's timestamps of the last end of each old container, by its id. */
  readonly endedAt: ReadonlyMap<string, string>;
  /** Likewise the start of each successor, by the old container's id. */
  readonly startedAt: ReadonlyMap<string, string>;
  /** The last log lines of successors that failed, by the old container's id. */
  readonly logs: ReadonlyMap<string, string>;
  /** Ids of images that failed for their own fault, by the old container's id. */
  readonly failedImages: ReadonlyMap<string, string>;
  /** What went wrong without mattering, by the old container's id. */
  readonly warnings: ReadonlyMap<string, string>;
};

/** The loop that an update and a recovery are: read the facts, decide, perform, until there is nothing left to do. */
export async function transact(options: TransactOptions): Promise<TransactResult> {
  const { outside, onPhase } = options;
  const prunes = createPruneWatch(
    outside,
    options.transaction.members.map(({ oldId }) => oldId),
  );
  const journey = beginJourney(options, prunes.pruned);
  let phase: UpdatePhase | undefined;
  for (;;) {
    const readAtMs = outside.clock.monotonicMs();
    const facts = await factsWhenReachable(options, journey);
    if (facts === undefined) return conclude(journey, 'stuck');
    journey.observe(facts);
    if (journey.takesUp(facts)) continue;
    prunes.see(facts, readAtMs);
    if (options.prepared !== undefined && (await prunes.hasTaken(facts))) continue;
    const decision = endRehearsal(options, heedAbort(options, decide(facts)));
    switch (decision.kind) {
      case 'turn':
        await journey.blameWhoEnded(facts);
        journey.turnBack(decision.reason, decision.busy, decision === rehearsed);
        continue;
      case 'end':
        return conclude(journey, decision.result);
      case 'stuck':
        journey.blame(`${describeStep(decision.step, facts)} failed: ${journey.lastRefusal(decision.step)}`);
        return conclude(journey, 'stuck');
      case 'step':
        break;
    }
    if (isForHelper(options, decision)) return conclude(journey, 'aside');
    if (phase !== decision.phase) onPhase((phase = decision.phase));
    const outcome = await perform(options, decision.step);
    outside.log.debug('transaction step', { step: decision.step, outcome });
    await journey.learn(decision, outcome, facts);
  }
}

function isParked(place: Place): boolean {
  return place === 'old' || place === 'drop' || place === 'kept';
}

type StepDecision = Extract<Decision, { kind: 'step' }>;

type Journey = ReturnType<typeof beginJourney>;

/** What this process has seen of the transaction so far; everything else is read from the engine each time. */
function beginJourney(
  { outside, prepared, transaction, handedOver, reopens = false }: TransactOptions,
  pruned: ReadonlySet<string>,
) {
  let wish: Course['wish'] = prepared === undefined ? (reopens ? 'back' : 'recover') : 'forward';
  let reason = '';
  let busy = false;
  let isRehearsed = false;
  let isTakenUp = false;
  let stopped = false;
  let facts: TransactionFacts | undefined;
  const engaged = new Set<string>();
  const parked = new Set<string>();
  const compared = new Set<string>();
  const proven = new Set<string>();
  const hooked = new Set<string>();
  const doubtful = new Set<string>();
  const outwaited = new Set<string>();
  const givenUp = new Set<string>();
  const attempts = new Map<string, number>();
  const refusals = new Map<string, string>();
  const endedAt = new Map<string, string>();
  const startedAt = new Map<string, string>();
  const logs = new Map<string, string>();
  const failedImages = new Map<string, string>();
  const warnings = new Map<string, string>();
  /** Successors that were started here, and that nothing has happened to since but what they did themselves. */
  const undisturbed = new Set<string>();
  /** By the old container's id. */
  const successorIds = new Map<string, string>();
  const recovering = prepared === undefined;
  const seenParked = new Set<string>();

  return {
    course: (): Course => ({
      wish,
      isRecovery: recovering && !reopens,
      reopens,
      seenParked,
      engaged: recovering ? 'all' : engaged,
      parked: recovering ? 'any' : parked,
      compared,
      proven,
      hooked,
      stopsInDoubt: recovering && !reopens ? 'any' : doubtful,
      outwaited,
      pruned,
      givenUp,
    }),
    state: () => ({
      reason,
      busy,
      isRehearsed,
      stopped,
      parked,
      facts,
      endedAt,
      startedAt,
      logs,
      failedImages,
      warnings,
    }),
    /**
     * A transaction that was handed over with all prepared goes forward from there. Later it is
     * recovered like any other: true once, when that has been decided.
     */
    takesUp(now: TransactionFacts): boolean {
      const isPrepared = now.members.every(
        ({ old, new: successor }) => old?.place === 'name' && successor?.place === 'new',
      );
      if (handedOver !== 'taken' || isTakenUp) return false;
      isTakenUp = true;
      if (!isPrepared) return false;
      wish = 'forward';
      for (const member of now.members) {
        if (member.new !== undefined) compared.add(member.new.id);
        if (member.old !== undefined) hooked.add(member.old.id);
      }
      return true;
    },
    disturbed: () => undisturbed.clear(),
    blame: (why: string) => {
      reason = reason === '' ? why : `${reason}; then ${why}`;
    },
    lastRefusal: (step: Step) => refusals.get(stepKey(step)) ?? 'it had no effect',
    turnBack(why: string, wasBusy: boolean, hasRehearsed = false) {
      wish = 'back';
      busy = wasBusy;
      isRehearsed = hasRehearsed;
      if (reason === '') reason = why;
    },
    observe(now: TransactionFacts) {
      facts = now;
      for (const [index, { oldId }] of transaction.members.entries()) {
        const member = now.members[index];
        if (member?.old?.finishedAt && member.old.status === 'exited') endedAt.set(oldId, member.old.finishedAt);
        if (member?.new !== undefined) engaged.add(oldId);
        if (member?.old !== undefined && isParked(member.old.place)) seenParked.add(member.old.id);
        const standIn = transaction.standIns.get(oldId);
        if (standIn !== undefined) for (const ours of [engaged, parked]) ours.add(standIn);
        if (member?.new !== undefined) successorIds.set(oldId, member.new.id);
        if (member?.new?.startedAt) startedAt.set(oldId, member.new.startedAt);
      }
    },
    /** A successor that is gone is told of by the engine's events: what has ended by itself was not removed by somebody. */
    async blameWhoEnded(seen: TransactionFacts) {
      const isLost = ({ old, new: successor }: MemberFacts) => old?.place !== 'name' && successor === undefined;
      if (wish !== 'forward' || !seen.members.some(isLost)) return;
      const first = await firstToEnd(outside, { members: transaction.members, successors: successorIds });
      if (first === undefined) return seen.members.forEach(noteVanished);
      if (first.ownFault && undisturbed.has(first.id)) noteFailure(first.id, seen);
      reason = first.ownFault ? `the new version of "${first.name}" failed: ${first.reason}` : first.reason;
    },
    async learn({ step, phase }: StepDecision, outcome: StepOutcome, seen: TransactionFacts) {
      const key = stepKey(step);
      const attempt = (attempts.get(key) ?? 0) + 1;
      attempts.set(key, attempt);
      if (step.kind === 'rename' && outcome.kind !== 'refused' && parseStandingName(step.to)?.role === 'old')
        parked.add(step.id);
      if (step.kind === 'stop' && outcome.kind !== 'refused') stopped = true;
      if (step.kind === 'stop' && outcome.kind === 'unknown') doubtful.add(step.id);
      if (step.kind === 'outwait' && outcome.kind === 'done') outwaited.add(step.id);
      if (step.kind === 'start' && outcome.kind === 'done') undisturbed.add(step.id);
      if (outcome.kind === 'unknown') undisturbed.clear();
      if (outcome.kind === 'declined') return this.turnBack(outcome.message, outcome.deferred);
      if (step.kind === 'hook' && (outcome.kind === 'done' || outcome.kind === 'warned')) hooked.add(step.id);
      if (outcome.kind === 'warned') return noteWarning(step, outcome.message, seen);
      if (outcome.kind === 'done' || outcome.kind === 'noop') {
        if (step.kind === 'compare') compared.add(step.id);
        if (step.kind === 'gate') for (const id of step.ids) proven.add(id);
        if (attempt >= limits[step.kind].inVain) surrender(key, `${describeStep(step, seen)} had no effect`);
        return;
      }
      refusals.set(key, outcome.message);
      const goingForward = phase !== 'rolling back' && phase !== 'committing';
      if (goingForward && outcome.kind !== 'unknown') {
        const failedId = outcome.kind === 'fault' ? outcome.id : step.kind === 'start' ? step.id : undefined;
        const name = nameOf(seen, failedId);
        if (failedId !== undefined) await keepLog(failedId, seen);
        if (outcome.kind === 'fault' && (outcome.wasSeenWell || undisturbed.has(outcome.id)))
          noteFailure(outcome.id, seen);
        this.turnBack(
          outcome.kind === 'fault'
            ? `the new version of "${name}" failed: ${outcome.message}`
            : `${describeStep(step, seen)} failed: ${outcome.message}`,
          outcome.kind === 'refused' && outcome.status === 409 && step.kind === 'create',
        );
        return;
      }
      if (attempt >= limits[step.kind].failures) {
        if (goingForward) this.turnBack(`${describeStep(step, seen)} failed: ${outcome.message}`, false);
        else surrender(key, outcome.message);
        return;
      }
      await outside.clock.sleep(backoffMs(attempt));
    },
  };

  /** A bug, or somebody who undoes every step, must not keep us here for ever. */
  function surrender(key: string, why: string) {
    givenUp.add(key);
    if (wish === 'back') return;
    wish = 'back';
    if (reason === '') reason = why;
  }

  /** A member that is created anew of the image it has had all along failed for another reason than its version. */
  function noteFailure(successorId: string, seen: TransactionFacts) {
    const index = transaction.members.findIndex(({ oldId }) => successorIds.get(oldId) === successorId);
    const member = transaction.members[index];
    const imageId = seen.members[index]?.new?.imageId ?? member?.newImageId ?? '';
    if (member !== undefined && imageId !== '' && imageId !== member.oldImageId) {
      failedImages.set(member.oldId, imageId);
    }
  }

  function noteWarning(step: Step, warning: string, seen: TransactionFacts) {
    const index = seen.members.findIndex((member) => 'id' in step && member.new?.id === step.id);
    const oldId = transaction.members[index]?.oldId;
    if (oldId !== undefined) warnings.set(oldId, warning);
  }

  /** Where the engine does not tell, what it removes when it stops leaves nothing behind that could tell why. */
  function noteVanished({ new: successor, vanishes }: MemberFacts, index: number) {
    const successorId = successorIds.get(transaction.members[index]?.oldId ?? '') ?? '';
    if (facts !== undefined && successor === undefined && vanishes && undisturbed.has(successorId))
      noteFailure(successorId, facts);
  }

  async function keepLog(successorId: string, seen: TransactionFacts) {
    const index = seen.members.findIndex((member) => member.new?.id === successorId);
    const oldId = transaction.members[index]?.oldId;
    if (oldId === undefined) return;
    try {
      const log = await outside.engine.containerLogs(successorId, { tail: 50 });
      const successor = await outside.engine.inspectContainer(successorId);
      logs.set(oldId, lastWords(log, successor?.settings.Config.Env ?? []));
    } catch (error) {
      outside.log.debug('the log of a failed successor could not be read', { error: describeError(error) });
    }
  }
}

/** `inVain`: how often a step may succeed without the facts changing; `failures`: how often it may fail. */
const limits: { readonly [K in StepKind]: { readonly inVain: number; readonly failures: number } } = {
  mark: { inVain: 2, failures: 3 },
  unmark: { inVain: 2, failures: 5 },
  create: { inVain: 2, failures: 3 },
  standIn: { inVain: 2, failures: 3 },
  connect: { inVain: 3, failures: 3 },
  compare: { inVain: 2, failures: 3 },
  rename: { inVain: 3, failures: 8 },
  policy: { inVain: 3, failures: 5 },
  hook: { inVain: 2, failures: 3 },
  stop: { inVain: 3, failures: 8 },
  start: { inVain: 2, failures: 8 },
  gate: { inVain: 2, failures: 8 },
  outwait: { inVain: 2, failures: 8 },
  tag: { inVain: 2, failures: 3 },
  remove: { inVain: 3, failures: 5 },
  keep: { inVain: 3, failures: 5 },
};

/** 0.1, 0.2, 0.4 … 5 s: eight attempts take about 20 s, long enough for an engine that has just booted. */
function backoffMs(attempt: number): number {
  return Math.min(5000, 50 * 2 ** attempt);
}

/** Before the first stop an abort costs nothing: the successors go, the names come back. */
function heedAbort({ signal, prepared }: TransactOptions, decision: Decision): Decision {
  const early = decision.kind === 'step' && decision.phase === 'preparing';
  if (!early || prepared === undefined || !signal?.aborted) return decision;
  return { kind: 'turn', reason: 'the run was cancelled', busy: true };
}

const rehearsed: Decision = { kind: 'turn', reason: 'it was a rehearsal', busy: false };

/** What is created aside is nobody's yet; all else would be noticed. */
function endRehearsal({ isRehearsal }: TransactOptions, decision: Decision): Decision {
  if (isRehearsal !== true || decision.kind !== 'step' || decision.phase === 'rolling back') return decision;
  return asideSteps.includes(decision.step.kind) ? decision : rehearsed;
}

const asideSteps: readonly StepKind[] = ['mark', 'create', 'standIn', 'connect', 'compare'];

/** Once our own container has been stopped there is nobody to go on; before, all is left as one who comes finds it best. */
function isForHelper({ outside, handedOver }: TransactOptions, { step, phase }: StepDecision): boolean {
  if (step.kind === 'stop' && step.id === outside.instance.containerId) return true;
  return handedOver === 'begun' && phase !== 'rolling back' && step.kind !== 'hook' && !asideSteps.includes(step.kind);
}

/** How long an engine that has gone away is waited for; what was begun is finished by the next start then. */
const reconnectLimitMs = 600_000;

/** Likewise one that answers with something else: a container that it cannot show must not hold up all others. */
const refusalLimitMs = 60_000;

async function factsWhenReachable(options: TransactOptions, journey: Journey): Promise<TransactionFacts | undefined> {
  const { outside, transaction } = options;
  const begunAt = outside.clock.monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readFacts(options, transaction, journey.course());
    } catch (error) {
      const hasAnswered = error instanceof ServiceError && error.code === 'engine-refused';
      const limitMs = hasAnswered ? refusalLimitMs : reconnectLimitMs;
      if (!(error instanceof ServiceError) || outside.clock.monotonicMs() - begunAt > limitMs) {
        journey.blame(describeError(error));
        if (!(error instanceof ServiceError))
          outside.log.error('the state of a transaction could not be read', { error });
        return undefined;
      }
      journey.disturbed();
      outside.log.debug('the engine does not answer, trying again', { error: error.message });
      await outside.clock.sleep(backoffMs(attempt));
    }
  }
}

async function perform(options: TransactOptions, step: Step): Promise<StepOutcome> {
  try {
    return await performStep(options, step);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      options.outside.log.error('a step of a transaction failed', { step: step.kind, error });
      return { kind: 'refused', status: 0, message: describeError(error) };
    }
    const refused = error.code === 'invalid-input' || error.code === 'not-found' || error.code === 'engine-refused';
    return refused
      ? { kind: 'refused', status: 0, message: error.message }
      : { kind: 'unknown', message: error.message };
  }
}

function performStep<K extends StepKind>(context: TransactOptions, step: StepOf<K>): Promise<StepOutcome> {
  return performers[step.kind](context, step);
}

function conclude(journey: Journey, result: TransactResult['result']): TransactResult {
  return { result, ...journey.state() };
}

function describeStep<K extends StepKind>(step: StepOf<K>, facts: TransactionFacts): string {
  return descriptions[step.kind](step, facts);
}

const descriptions: { readonly [K in StepKind]: (step: StepOf<K>, facts: TransactionFacts) => string } = {
  mark: ({ oldId }, facts) => `marking the update of "${memberOf(facts, oldId)}" in the engine`,
  unmark: ({ oldId }, facts) => `removing the mark of the update of "${memberOf(facts, oldId)}"`,
  create: ({ member }, facts) => `creating the successor of "${facts.members[member]?.name ?? ''}"`,
  standIn: ({ member }, facts) => `creating a stand-in for "${facts.members[member]?.name ?? ''}"`,
  connect: ({ id }, facts) => `connecting "${nameOf(facts, id)}" to its networks`,
  compare: ({ id }, facts) => `comparing the successor of "${nameOf(facts, id)}" with it`,
  rename: ({ id, to }, facts) => `renaming "${nameOf(facts, id)}" to "${to}"`,
  policy: ({ id }, facts) => `setting the restart policy of "${nameOf(facts, id)}"`,
  stop: ({ id }, facts) => `stopping "${nameOf(facts, id)}"`,
  start: ({ id }, facts) => `starting "${nameOf(facts, id)}"`,
  gate: () => 'waiting for health',
  hook: ({ id }, facts) => `running the hook of "${nameOf(facts, id)}"`,
  outwait: ({ id }, facts) => `watching "${nameOf(facts, id)}"`,
  tag: ({ reference }) => `tagging "${reference}"`,
  remove: ({ id }, facts) => `removing "${nameOf(facts, id)}"`,
  keep: ({ id }, facts) => `keeping the old "${nameOf(facts, id)}"`,
};

function memberOf({ members }: TransactionFacts, oldId: string): string {
  return members.find((member) => member.oldId === oldId)?.name ?? '';
}

function nameOf(facts: TransactionFacts, id: string | undefined): string {
  return facts.members.find((member) => [member.old?.id, member.new?.id, member.spare?.id].includes(id))?.name ?? '';
}
