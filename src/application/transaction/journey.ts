import { describeError } from '../../domain/errors.ts';
import { lastWords } from '../../domain/text/last-words.ts';
import type { Course, MemberFacts, Place, TransactionFacts } from '../../domain/transaction/facts.ts';
import { type Step, stepKey } from '../../domain/transaction/step.ts';
import { parseStandingName } from '../../domain/transaction/transaction-names.ts';
import type { StepDecision } from './decision.ts';
import { describeStep, nameOf } from './describe-step.ts';
import { firstToEnd } from './facts/first-to-end.ts';
import { backoffMs, limits } from './step-limits.ts';
import type { StepOutcome } from './steps/step-context.ts';
import type { TransactOptions } from './transact-options.ts';

/** Observations of this process during the transaction; all other facts are read from the engine each time. */
export function beginJourney(
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

export type Journey = ReturnType<typeof beginJourney>;

function isParked(place: Place): boolean {
  return place === 'old' || place === 'drop' || place === 'kept';
}
