import { type Container, type ContainerSummary, isAlive, restartPolicyOf } from '../../domain/container/container.ts';
import { describeError, ServiceError } from '../../domain/errors.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import { keptAmong } from '../../domain/rollback/kept-containers.ts';
import { containerOwnLabels } from '../../domain/container/label-names.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, UpdatePhase } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { PlannedTransaction } from '../../domain/plan/planned-transaction.ts';
import { passGate } from '../health/health.ts';
import { announceEnd, announcePhase, announceStart } from '../transaction/announce.ts';
import { memberFromJournal } from '../transaction/facts/member-from.ts';
import type { RunTransaction } from '../transaction/run-transaction.ts';
import { opened } from '../transaction/facts/open-transaction.ts';
import { transact } from '../transaction/transact.ts';

/** Kept containers that stay long enough, by the id of the container that replaced them. */
export type Returning = ReadonlyMap<string, ContainerSummary>;

/** Kept containers that may be used for the updates of a plan. */
export async function findReturning(
  { engine }: Outside,
  { transactions }: UpdatePlan,
  signal: AbortSignal | undefined,
): Promise<Returning> {
  const kept = keptAmong(await engine.listContainers({}, signal));
  if (kept.length === 0) return new Map();
  const { nowMs } = await engine.info(signal);
  const found = new Map<string, ContainerSummary>();
  const alone = transactions.flatMap(({ members }) => (members.length === 1 ? members : []));
  for (const { container } of alone) {
    const reading = readJournal(containerOwnLabels(container.settings.Config.Labels ?? {}, container.imageLabels));
    if (reading.kind !== 'journal' || reading.journal.members.length > 1) continue;
    const { oldId, wasRunning } = reading.journal;
    const old = kept.find((one) => one.container.id === oldId && one.kept.name === container.name);
    const inTime = old !== undefined && old.kept.untilMs > nowMs + marginMs;
    const isAsked = inTime && old.container.status === 'exited' && wasRunning === isAlive(container.state.status);
    if (isAsked) found.set(container.id, old.container);
  }
  return found;
}

/** A kept container that another run may be about to remove is not used. */
const marginMs = 60_000;

/**
 * Returns to a kept container: reopens the last transaction and undoes it, with the same steps and the same recovery as
 * after a failed version. Other updates are passed to `otherwise`.
 */
export function returnToKept(returning: Returning, otherwise: RunTransaction): RunTransaction {
  return async (outside, settings, planned, context, signal) => {
    const [member] = planned.members;
    const old = member && returning.get(member.container.id);
    if (old === undefined || planned.members.length > 1) return otherwise(outside, settings, planned, context, signal);
    return [await goBack(outside, settings, planned, { runId: context.runId, old })];
  };
}

type Return = { readonly runId: string; readonly old: ContainerSummary };

async function goBack(
  outside: Outside,
  settings: ServiceSettings,
  { members: [member] }: PlannedTransaction,
  { runId, old }: Return,
): Promise<ContainerOutcome> {
  if (member === undefined) throw new Error('a transaction without members');
  const { container, reference } = member;
  const { name } = container;
  const [from, to] = [container.imageId, old.imageId];
  announceStart(outside, runId, { name, image: reference, from, to });
  const onPhase = (phase: UpdatePhase) => announcePhase(outside, runId, name, phase);
  const fault = await reopen(outside, settings, container, { oldId: old.id, onPhase }).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) outside.log.error('A kept container could not be brought back', { error });
    return describeError(error);
  });
  const outcome: ContainerOutcome = {
    name,
    image: reference,
    oldImageId: from,
    newImageId: to,
    oldDigest: '',
    newDigest: '',
    ...(fault === undefined
      ? { outcome: 'updated', reason: 'back to the kept container from before its last update' }
      : { outcome: 'failed', reason: fault }),
  };
  announceEnd(outside, runId, outcome);
  return outcome;
}

type Reopening = { readonly oldId: string; readonly onPhase: (phase: UpdatePhase) => void };

/** The reason of a failure. Undefined when the old container runs and is healthy. */
async function reopen(
  outside: Outside,
  settings: ServiceSettings,
  container: Container,
  { oldId, onPhase }: Reopening,
): Promise<string | undefined> {
  const reading = readJournal(containerOwnLabels(container.settings.Config.Labels ?? {}, container.imageLabels));
  if (reading.kind !== 'journal') return 'its journal is gone';
  const info = await outside.engine.info();
  const { result, reason, facts } = await transact({
    outside,
    settings,
    mode: { kind: 'return' },
    onPhase,
    transaction: opened(
      {
        id: reading.journal.transaction,
        members: [{ ...memberFromJournal(reading.journal), policy: restartPolicyOf(container) }],
        successors: new Map([[oldId, container.id]]),
      },
      info,
    ),
  });
  const now = facts?.members[0]?.old;
  if (result === 'stuck') return `${reason}; the next run or start of Upkeep tries again`;
  if (result !== 'undone' || now?.place !== 'name') return 'somebody removed or renamed the kept container meanwhile';
  if (!reading.journal.wasRunning) return undefined;
  const ignoresHealthcheck = reading.journal.wasUnhealthy === true;
  const verdict = await passGate(outside, settings, oldId, { ignoresHealthcheck });
  return verdict.kind === 'passed' ? undefined : `the old container is back, but ${verdict.reason}`;
}
