import { decide } from '../../domain/transaction/decide.ts';
import {
  expectedFactsAfter,
  mayUseExpectedFacts,
  hasLostSuccessor,
  noteLostSuccessors,
  type DataMemory,
  type TransactionFacts,
} from '../../domain/transaction/facts.ts';
import { isAlive } from '../../domain/container/container.ts';
import type { CopyProgress } from '../../domain/run/event.ts';
import type { UpdatePhase } from '../../domain/run/session.ts';
import {
  describeStep,
  learn,
  beginMemory,
  addReason,
  beginRollback,
  noteFailure,
  type StepDecision,
  type TransactionMemory,
} from '../../domain/transaction/memory.ts';
import { stepKey, type Decision, type Step, type StepKind, type DataFault } from '../../domain/transaction/member.ts';
import { createFactsReader, firstToEnd } from './facts.ts';
import { stopAndHealthPolicyOf } from '../health/health.ts';
import { whyNotStop } from '../engine/permissions.ts';
import { perform } from './perform.ts';
import { noteStep, readAgain } from './open-transaction.ts';
import { describeError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { logTail } from '../../domain/text/hidden-secrets.ts';
import type { OwnWays } from '../../domain/self-update/own-ways.ts';
import type { PreparedTransaction } from './prepare.ts';
import type { StepContext } from './create-successor.ts';
import { quoted } from '../../domain/text/printable.ts';

/**
 * The loop of every update and recovery: read the facts, decide, perform, learn, until nothing is left to do. A
 * harmless step may be based on the facts that earlier steps are expected to have caused. If it is refused, the facts
 * are read before the refusal counts.
 */
export async function transact(options: TransactOptions): Promise<TransactResult> {
  const { transactions } = options.outside.instance;
  const { id } = options.transaction;
  transactions.add(id);
  try {
    return await repeatSteps(options);
  } finally {
    transactions.delete(id);
  }
}

async function repeatSteps(options: TransactOptions): Promise<TransactResult> {
  const { outside, mode, onPhase } = options;
  const context = { ...options, prepared: 'prepared' in mode ? mode.prepared : undefined };
  const read = createFactsReader(options);
  const logs = new Map<string, string>();
  let memory = beginMemory(mode.kind, options.dataChoice);
  let facts: TransactionFacts | undefined;
  let isExpected = false;
  let phase: UpdatePhase | undefined;
  const conclude = (result: TransactResult['result'], isDataStuck = false): TransactResult => {
    return { ...memory, result, facts, logs, isDataStuck };
  };
  for (;;) {
    if (!isExpected) {
      const reading = await read(memory);
      memory = reading.memory;
      if (reading.kind === 'unreadable') return conclude('stuck');
      facts = reading.facts;
      if (reading.kind === 'outdated') continue;
    }
    if (facts === undefined) throw new Error('a transaction without facts');
    facts = { ...facts, memory };
    const decision = orRollBack(options, decide(facts));
    const wasExpected = isExpected;
    isExpected = false;
    if (wasExpected && !mayUseExpectedFacts(decision, facts)) continue;
    switch (decision.kind) {
      case 'rollBack':
        memory = beginRollback(await causeOfEnd(options, memory, facts), decision);
        continue;
      case 'end':
        return conclude(decision.result);
      case 'stuck': {
        const name = facts.members[0]?.name ?? '';
        if ('fault' in decision) {
          memory = addReason(memory, describeDataFault(decision.fault, name));
          return conclude('stuck', true);
        }
        const why = memory.refusals.get(stepKey(decision.step)) ?? 'it had no effect';
        const isOfData = decision.step.kind === 'restoreData';
        memory = addReason(
          memory,
          isOfData ? describeFailedRestore(name, why) : `${describeStep(decision.step, facts)} failed: ${why}`,
        );
        return conclude('stuck', isOfData);
      }
      case 'step':
        break;
    }
    if (decision.step.kind === 'remove' && isUnread(options, facts, decision.step.id)) {
      readAgain(options.transaction, decision.step.id);
      continue;
    }
    if (isForHelper(options, decision, facts)) return conclude('needsHelper');
    const forbidden = leadsToStop(decision, facts) ? await whyNotStop(outside) : undefined;
    if (forbidden !== undefined) {
      memory = addReason(memory, `${describeStep(decision.step, facts)} is not tried: ${forbidden}`);
      if (memory.direction !== 'forward') return conclude('stuck');
      memory = beginRollback(memory, { reason: memory.reason, busy: false });
      continue;
    }
    if (phase !== decision.phase) onPhase((phase = decision.phase));
    const onCopied = (copied: CopyProgress) => onPhase(decision.phase, copied);
    if (mayTakeLong(options, decision.step)) options.onWait?.();
    const isUnproven = wasExpected || isUnread(options, facts);
    const begunAtMs = outside.clock.monotonicMs();
    const outcome = await perform({ ...context, figures: memory.figures, onCopied }, decision.step);
    const endedAtMs = outside.clock.monotonicMs();
    if (outcome.kind !== 'left') noteStep(options.transaction, { step: decision.step, outcome, begunAtMs, endedAtMs });
    outside.log.debug('transaction step', { step: decision.step, outcome });
    if (outcome.kind === 'left') {
      const containers = facts.members.map(({ name }) => name);
      outside.log.warn(
        'Upkeep ends before the health check of a new version is over: the next start finishes or undoes this',
        {
          containers,
        },
      );
      return conclude('left');
    }
    if (isUnproven && outcome.kind === 'refused' && decision.step.kind !== 'create') {
      const reading = await read(memory);
      memory = reading.memory;
      if (reading.kind !== 'read' || reading.facts === undefined) continue;
      facts = { ...reading.facts, memory };
      if (!isRefusalOf(decision.step, outcome, decide(facts))) continue;
    }
    const learned = learn(memory, decision, outcome, facts);
    memory = learned.memory;
    if (learned.logOf !== undefined)
      for (const [id, log] of await logOfFailed(outside, facts, learned.logOf)) logs.set(id, log);
    if (learned.pauseMs !== undefined) await outside.clock.sleep(learned.pauseMs);
    const expected = outcome.kind === 'done' ? expectedFactsAfter(facts, decision.step, memory) : undefined;
    isExpected = expected !== undefined;
    facts = expected ?? facts;
  }
}

/** Replaces the decision with the one to undo everything, after an abort or at the end of a rehearsal. */
function orRollBack({ mode, signal }: TransactOptions, decision: Decision): Decision {
  if (decision.kind !== 'step') return decision;
  const { step, phase } = decision;
  // Before the first stop an abort has no cost: the successors are removed and the names restored.
  if (phase === 'preparing' && 'prepared' in mode && signal?.aborted)
    return { kind: 'rollBack', reason: 'the run was cancelled', busy: true };
  const isOver = mode.kind === 'rehearse' && phase !== 'rolling back' && !asideSteps.includes(step.kind);
  return isOver ? rehearsed : decision;
}

const rehearsed: Decision = { kind: 'rollBack', reason: 'it was a rehearsal', busy: false, isRehearsed: true };

/** The steps that only create, connect and compare new containers: a rehearsal performs no other. */
const asideSteps: readonly StepKind[] = [
  'mark',
  'create',
  'autoRemoveReplica',
  'connect',
  'copyFiles',
  'compare',
  'measureData',
];

/**
 * True if a helper must perform the step. This process cannot continue once our own container has been stopped, or a
 * door has been stopped or has lost its name. Before that, it leaves everything in a state that a helper can continue.
 */
function isForHelper(
  { outside, mode, ways }: TransactOptions,
  decision: StepDecision,
  facts: TransactionFacts,
): boolean {
  const { step, phase } = decision;
  if (step.kind === 'stop' && step.id === outside.instance.containerId) return true;
  const ids = facts.members.flatMap(({ old, new: made }) => [old?.id ?? '', made?.id ?? '']);
  if (ids.some((id) => ways?.has(id)) && leadsToStop(decision, facts)) return true;
  const isOurTurnOver = phase !== 'rolling back' && step.kind !== 'hook' && !asideSteps.includes(step.kind);
  return mode.kind === 'hand-over' && isOurTurnOver;
}

/**
 * Whether the facts of a container rest on an earlier reading. A removal cannot be undone, so every container that stays
 * is read before it.
 */
function isUnread({ transaction }: TransactOptions, { members }: TransactionFacts, exceptId?: string): boolean {
  return members
    .flatMap(({ old, new: made, replica }) => [old?.id ?? '', made?.id ?? '', replica?.id ?? ''])
    .some((id) => id !== exceptId && transaction.lastRead.get(id)?.hasServed === true);
}

/** Whether a process is about to be stopped. A rollback takes the name of the successor first. */
function leadsToStop({ step, phase }: StepDecision, { members }: TransactionFacts): boolean {
  if (step.kind === 'stop') return true;
  return phase === 'rolling back' && members.some(({ new: made }) => made?.place === 'name' && isAlive(made.status));
}

/** Whether the step waits for a process in a container. A usual stop is short. */
function mayTakeLong({ settings, transaction }: TransactOptions, step: Step): boolean {
  if (step.kind === 'saveData' || step.kind === 'restoreData') return true;
  if (step.kind !== 'stop')
    return step.kind === 'awaitHealth' || step.kind === 'hook' || step.kind === 'waitOutPendingStop';
  const { stop } = stopAndHealthPolicyOf(transaction.lastRead.get(step.id)?.container, settings);
  return stop.timeoutSeconds > usualStopSeconds;
}

/** Docker's own default: https://docs.docker.com/reference/cli/docker/container/stop/ */
const usualStopSeconds = 10;

/** Whether the refusal concerns the step itself, and not facts that differ from the expected ones. */
function isRefusalOf(step: Step, { status }: { readonly status: number }, now: Decision): boolean {
  return status === nameIsTaken || (now.kind === 'step' && stepKey(now.step) === stepKey(step));
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerRename */
const nameIsTaken = 409;

/** Reads from the engine's events whether a removed successor failed, or a person or program removed it. */
async function causeOfEnd(
  { outside, transaction }: Pick<TransactOptions, 'outside' | 'transaction'>,
  memory: TransactionMemory,
  facts: TransactionFacts,
): Promise<TransactionMemory> {
  if (!hasLostSuccessor(memory, facts)) return memory;
  const first = await firstToEnd(outside, { members: transaction.members, successors: new Map(memory.successorIds) });
  if (first === undefined) return noteLostSuccessors(memory, facts);
  const isItsOwn = first.ownFault && memory.withoutOutsideChange.has(first.id);
  const reason = first.ownFault ? `the new version of "${first.name}" failed: ${first.reason}` : first.reason;
  return { ...(isItsOwn ? noteFailure(memory, first.id, facts) : memory), reason };
}

/** The last log lines of a successor, by the old container's id. Empty if the engine does not have them. */
async function logOfFailed(
  { engine, log }: Pick<Outside, 'engine' | 'log'>,
  { members }: TransactionFacts,
  successorId: string,
): Promise<ReadonlyMap<string, string>> {
  const oldId = members.find((member) => member.new?.id === successorId)?.oldId;
  if (oldId === undefined) return new Map();
  try {
    const written = await engine.containerLogs(successorId, { tail: 50 });
    const successor = await engine.inspectContainer(successorId);
    return new Map([[oldId, logTail(written, successor?.settings.Config.Env ?? [])]]);
  } catch (error) {
    log.debug('the log of a failed successor could not be read', { error: describeError(error) });
    return new Map();
  }
}

export type TransactOptions = Pick<
  StepContext,
  'outside' | 'settings' | 'transaction' | 'whileUnproven' | 'whyDoorClosed'
> & {
  readonly mode: TransactMode;
  /** `copied`: it is still in this phase, in which data are copied. */
  readonly onPhase: (phase: UpdatePhase, copied?: CopyProgress) => void;
  /** The choice of a person for data that cannot be restored. */
  readonly dataChoice?: DataMemory['choice'];
  /** Containers that this process must not stop: see `ownWays()`. A plan leaves them out; a repair may find them. */
  readonly ways?: OwnWays;
  /** Called before each step that may take longer than calls to the engine do. */
  readonly onWait?: (() => void) | undefined;
  /** An abort takes effect only before the first stop, and undoes everything. */
  readonly signal?: AbortSignal | undefined;
};

/** See `TransactionMode`. Only an update creates containers, so only an update is prepared. */
type TransactMode =
  | { readonly kind: 'update' | 'hand-over' | 'rehearse'; readonly prepared: PreparedTransaction }
  | { readonly kind: 'recover' | 'finish-as-helper' | 'return' };

export type TransactResult = Pick<
  TransactionMemory,
  | 'reason'
  | 'busy'
  | 'isRehearsed'
  | 'wasTagMoved'
  | 'stopped'
  | 'hasStarted'
  | 'parked'
  | 'endedAt'
  | 'startedAt'
  | 'failedImages'
  | 'warnings'
  | 'refusals'
  | 'figures'
  | 'data'
> & {
  /** Only a person can decide about the data, or remove what prevents their restore. */
  readonly isDataStuck: boolean;
  /**
   * `needsHelper`: the next step would stop our own container, or one of `ways`, so a helper must perform it. `left`: this
   * process ends before the new versions have proven themselves; the next start finishes or undoes the update.
   */
  readonly result: 'committed' | 'undone' | 'stuck' | 'needsHelper' | 'left';
  /** The last facts. Undefined if none could be read. */
  readonly facts: TransactionFacts | undefined;
  /** The last log lines of successors that failed, by the old container's id. */
  readonly logs: ReadonlyMap<string, string>;
};

/** The sentence for a state that only a person can end. */
function describeDataFault(fault: DataFault, name: string): string {
  const container = quoted(name);
  switch (fault) {
    case 'no-copy':
      return `the copy of the data of ${container} is gone. Keep the new version: upkeep recover ${name} --keep-new. Start the old one on the new data: upkeep recover ${name} --without-data`;
    case 'no-journal':
      return `the new container of ${container} was removed, and nothing shows which data it has changed. Start the old one on them: upkeep recover ${name} --without-data`;
    case 'old-started':
      return `${container} was started by someone on the data of the new version. Stop it, then: upkeep recover ${name}`;
    case 'new-gone':
      return `the new container of ${container} was removed after its update. Start the old one on the new data: upkeep recover ${name} --without-data`;
  }
}

function describeFailedRestore(name: string, why: string): string {
  return `the data of ${quoted(name)} could not be restored (${why}). Nothing runs on them. Remove the cause, then: upkeep recover ${name}`;
}
