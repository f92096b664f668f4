import { type Container, isAlive } from '../../domain/container/container.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { FoundTransaction } from './find-open.ts';
import { healthDeadlineMs, stopAndHealthPolicyOf } from '../health/health.ts';

/** Longer than any transaction: the longest stop and the longest health check together. */
export const longestTransactionMs = 2 * 3_600_000;

export type OwnerVerdict = {
  readonly reason: string;
  /** No owner is known to be alive: a later run or a person repairs it. */
  readonly isPending: boolean;
};

/**
 * Why this process must not touch a transaction. Undefined when no other process works on it. An owner that is a
 * process of this machine, or a container of this engine, is looked up there. Any other owner would change something in
 * the engine within its longest wait; after that time without a change it counts as dead.
 */
export async function whyNotOurs(
  outside: Outside,
  settings: ServiceSettings,
  transaction: FoundTransaction,
  nowMs: number,
): Promise<OwnerVerdict | undefined> {
  const { owner, ownerContainer, createdAtMs } = transaction;
  if (owner === '') return undefined;
  const state = outside.instance.ownerState(owner);
  const atWork = { reason: 'another Upkeep instance is updating it', isPending: false };
  if (state === 'alive') return atWork;
  if (state !== 'unknown') return undefined;
  if (ownerContainer !== '') return (await runsInAnother(outside, ownerContainer, createdAtMs)) ? atWork : undefined;
  const { lastSignMs, longestPauseMs } = await lastActivity(outside, settings, transaction);
  const waitMs = lastSignMs + longestPauseMs - nowMs;
  if (lastSignMs > nowMs || waitMs <= 0) return undefined;
  const when = formatDuration(Math.ceil(waitMs / 1000) * 1000);
  return {
    reason: `repair pending: another Upkeep instance may be updating it; it is taken over in ${when}`,
    isPending: true,
  };
}

/**
 * Whether the owner runs in another container of this engine. A container that was started later is not the owner.
 */
async function runsInAnother(
  { engine, instance }: Outside,
  id: string,
  transactionCreatedAtMs: number,
): Promise<boolean> {
  if (id === instance.containerId) return false;
  const container = await engine.inspectContainer(id);
  if (container === undefined || !isAlive(container.state.status)) return false;
  return !(Date.parse(container.state.startedAt) > transactionCreatedAtMs);
}

type Signs = {
  /** The last change to one of its containers, by the engine's clock. */
  readonly lastSignMs: number;
  /** The longest time that an owner waits without a change. */
  readonly longestPauseMs: number;
};

async function lastActivity(
  { engine }: Outside,
  settings: ServiceSettings,
  { members, successors, autoRemoveReplicas, createdAtMs }: FoundTransaction,
): Promise<Signs> {
  let lastSignMs = createdAtMs;
  let patienceMs = 0;
  const ids = [...members.map(({ oldId }) => oldId), ...successors.values(), ...autoRemoveReplicas.values()];
  for (const id of ids) {
    const container = await engine.inspectContainer(id);
    if (container === undefined) continue;
    const { startedAt, finishedAt } = container.state;
    const times = [Date.parse(startedAt), Date.parse(finishedAt)].filter((time) => time > 0);
    lastSignMs = Math.max(lastSignMs, container.createdAtMs, ...times);
    patienceMs = Math.max(patienceMs, longestWaitMs(container, settings));
  }
  return { lastSignMs, longestPauseMs: patienceMs + marginMs };
}

/** The longest wait for a stop or a health check. Hooks have their own timeouts, which are usually short. */
function longestWaitMs(container: Container, settings: ServiceSettings): number {
  const stopAndHealth = stopAndHealthPolicyOf(container, settings);
  const proofMs = Math.max(
    stopAndHealth.gateWindowMs,
    healthDeadlineMs(container.settings.Config.Healthcheck, stopAndHealth),
    stopAndHealth.healthProbe.kind === 'none' ? 0 : (stopAndHealth.gateTimeoutMs ?? probingMs),
  );
  return Math.max(stopAndHealth.stop.timeoutSeconds * 1000, proofMs);
}

/** See `passGate`. */
const probingMs = 60_000;

/** Time for the calls in between on a busy engine. */
const marginMs = 60_000;
