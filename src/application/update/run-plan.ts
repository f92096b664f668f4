import { downtimeOf, type Outcomes, type ContainerOutcome, type OutcomeKind } from '../../domain/run/session.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { CanaryGroup, UpdatePlan, PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import { judgeCanary, newImageOf, type CanaryVerdict, type NetworkOrder } from '../../domain/plan/order.ts';
import { fetchImage, foreignPlatform, type ImageAhead } from '../transaction/create-successor.ts';
import { createSlots, mapConcurrently } from '../async/concurrency.ts';
import { runTransaction, type RunTransaction, type TransactionRun } from '../transaction/run-transaction.ts';
import { isAlive, type Container } from '../../domain/container/container.ts';
import { healthDeadlineMs, passHealthCheck, stopAndHealthPolicyOf, maxPendingStopMs } from '../health/health.ts';
import { announceEnd, announcePhase, announceStart } from '../transaction/outcomes.ts';
import { createStopTimes } from '../transaction/open-transaction.ts';
import { addTo } from '../../domain/text/plain-data.ts';
import { contentOf } from '../engine/listing.ts';
import { requirePermissions } from '../engine/permissions.ts';
import type { PlannedRestart } from '../../domain/plan/dependency-graph.ts';

/**
 * Runs the transactions of a plan, `updateConcurrency` at once or one by one, and then the restarts. A transaction
 * begins after its dependencies, and what pulls need begins after all that can do without it. During a wait for health, up to `unproven` more may begin. A failure stops only
 * dependent transactions, and with a canary the rest of its group. After an abort no further transaction begins.
 */
export async function runPlan(
  outside: Outside,
  settings: ServiceSettings,
  plan: UpdatePlan,
  { perform = runTransaction, whyNotNow, order = inPlannedOrder(plan), alone = (work) => work(), ...run }: PlanRun,
  signal?: AbortSignal,
): Promise<Outcomes> {
  const atOnce = settings.rollingRestart ? 1 : settings.updateConcurrency;
  const slots = createSlots(atOnce, atOnce === 1 ? 0 : settings.unproven);
  const outcomes = new Map<string, ContainerOutcome>();
  const ends = new Map<string, Promise<End>>();
  const { ahead = noImages } = run;

  async function attempt(transaction: PlannedTransaction): Promise<readonly ContainerOutcome[]> {
    const awaited = await Promise.all(transaction.after.flatMap((id) => ends.get(id) ?? []));
    const failed = awaited.find((end) => !end.succeeded);
    if (failed !== undefined)
      return leftOutcomes(transaction, `It depends on ${quoted(failed.leader)}, which was not updated`);
    const failedCanary = await failedBefore(transaction, plan.canaries ?? [], ends);
    if (failedCanary !== undefined)
      return leftOutcomes(transaction, `The new version failed in ${quoted(failedCanary)}`, 'deferred');
    const followed = await Promise.all((order.follows.get(transaction.id) ?? []).flatMap((id) => ends.get(id) ?? []));
    const isBack = followed.some((end) => end.succeeded && order.carriers.has(end.transaction.id));
    return slots.run(async ({ pause }) => {
      if (signal?.aborted) return leftOutcomes(transaction, cancelledBeforeTurn);
      try {
        const why = await whyNotNow?.(transaction.members.map(({ container }) => container.id));
        const notReady = why ?? (await whyNotReady(outside, settings, transaction.requires, signal));
        if (notReady !== undefined) return leftOutcomes(transaction, notReady, 'deferred');
        const isAgain = isBack && isUnpulled(transaction.members, ahead);
        const images = isAgain ? await fetchWhenBack(outside, settings, transaction, { ...run, ahead }, signal) : ahead;
        const work = () =>
          perform(outside, settings, transaction, { ...run, ahead: images, whileUnproven: pause }, signal);
        return await (order.carriers.has(transaction.id) ? alone(work) : work());
      } catch (error) {
        if (signal?.aborted) return leftOutcomes(transaction, cancelledBeforeTurn);
        outside.log.error('An update failed because of an internal error', { error });
        return leftOutcomes(transaction, describeError(error), 'failed');
      }
    });
  }

  for (const transaction of order.transactions) {
    const end = attempt(transaction).then((reached): End => {
      for (const [index, outcome] of reached.entries()) {
        const member = transaction.members[index];
        if (member !== undefined) outcomes.set(member.container.id, outcome);
      }
      const leader = transaction.members[0]?.container.name ?? '';
      const succeeded = reached.every(({ outcome }) => successes.includes(outcome));
      return { leader, succeeded, transaction, verdict: judgeCanary(transaction, reached) };
    });
    ends.set(transaction.id, end);
  }
  await Promise.all(ends.values());
  await restartDependents(outside, settings, plan.restarts, { runId: run.runId, outcomes }, signal);
  return outcomes;
}

export type PlanRun = TransactionRun & {
  readonly perform?: RunTransaction;
  /** Called just before a transaction begins. Returns why containers with these ids must not be updated now. */
  readonly whyNotNow?: (ids: readonly string[]) => Promise<string | undefined>;
  /** Absent: the order of the plan. */
  readonly order?: NetworkOrder;
  /** Performs the transaction of a carrier of the network while no other engine of the run pulls. */
  readonly alone?: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

/** By container id. */
type ImagesAhead = ReadonlyMap<string, ImageAhead>;

const noImages: ImagesAhead = new Map();

function inPlannedOrder({ transactions }: UpdatePlan): NetworkOrder {
  return { transactions, carriers: new Set(), follows: new Map() };
}

export const cancelledBeforeTurn = 'The run was cancelled before its turn';

/** The outcome of a container that was not changed. */
export function untouched(
  {
    id,
    name,
    image,
    imageId,
  }: Pick<ContainerOutcome, 'name' | 'image'> & { readonly id?: string; readonly imageId: string },
  outcome: OutcomeKind,
  reason: string,
): ContainerOutcome {
  const images = { oldImageId: imageId, newImageId: imageId, oldDigest: '', newDigest: '' };
  return { name, ...(id !== undefined && { containerId: id }), image, outcome, reason, ...images };
}

type End = {
  readonly leader: string;
  readonly succeeded: boolean;
  readonly transaction: PlannedTransaction;
  readonly verdict: CanaryVerdict;
};

/** Waits for each canary that a transaction depends on. Returns the container in which the new image failed, if any. */
async function failedBefore(
  { id }: PlannedTransaction,
  canaries: readonly CanaryGroup[],
  ends: ReadonlyMap<string, Promise<End>>,
): Promise<string | undefined> {
  for (const { image, transactions } of canaries) {
    const place = transactions.indexOf(id);
    for (const earlier of transactions.slice(0, Math.max(0, place))) {
      const end = await ends.get(earlier);
      if (end?.verdict === 'passed') break;
      if (end?.verdict === 'failed') {
        const member = end.transaction.members.find((candidate) => newImageOf(candidate) === image);
        return member?.container.name ?? end.leader;
      }
    }
  }
  return undefined;
}

const successes: readonly OutcomeKind[] = ['updated', 'restarted', 'fresh'];

function leftOutcomes(
  { members }: PlannedTransaction,
  reason: string,
  outcome: OutcomeKind = 'skipped',
): readonly ContainerOutcome[] {
  return members.map(({ container, reference, formerReference = reference }: PlannedMember) =>
    untouched(
      { id: container.id, name: container.name, image: formerReference, imageId: container.imageId },
      outcome,
      reason,
    ),
  );
}

/**
 * Why a compose `depends_on` condition is not met yet. Undefined when all are met. Waits for the result of a pending
 * HEALTHCHECK. Conditions on removed containers count as met.
 */
async function whyNotReady(
  outside: Outside,
  settings: ServiceSettings,
  requirements: PlannedTransaction['requires'],
  signal?: AbortSignal,
): Promise<string | undefined> {
  for (const { name, condition } of requirements) {
    const why =
      condition === 'service_healthy'
        ? await whyNotHealthy(outside, settings, name, signal)
        : await whyNotCompleted(outside, name, signal);
    if (why !== undefined) return `It depends on ${quoted(name)}, which ${why}`;
  }
  return undefined;
}

async function whyNotHealthy(
  { engine, clock }: Outside,
  settings: ServiceSettings,
  name: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const begunAtMs = clock.monotonicMs();
  for (;;) {
    const container = await engine.inspectContainer(name, signal);
    if (container === undefined) return undefined;
    if (container.state.status !== 'running') return 'must be healthy and does not run';
    if (stopAndHealthPolicyOf(container, settings).ignoresHealthcheck) return undefined;
    if (container.state.health === 'unhealthy') return 'must be healthy and is not';
    if (container.state.health !== 'starting') return undefined;
    if (clock.monotonicMs() - begunAtMs >= maxStartMs(container, settings)) return 'did not become healthy in time';
    await clock.sleep(pollMs, signal);
  }
}

function maxStartMs(container: Container, settings: ServiceSettings): number {
  return healthDeadlineMs(container.settings.Config.Healthcheck, stopAndHealthPolicyOf(container, settings));
}

/** A failed job does not block a container that already runs. */
async function whyNotCompleted({ engine }: Outside, name: string, signal: AbortSignal | undefined) {
  const container = await engine.inspectContainer(name, signal);
  return container?.state.status === 'running' ? 'is still at work' : undefined;
}

/** Short against the seconds that a health check takes. */
const pollMs = 500;

/**
 * Restarts the dependents of replaced containers one after another, and adds their outcomes. A dependent that its own
 * update has started is skipped. After an abort nothing more is restarted.
 */
async function restartDependents(
  outside: Outside,
  settings: ServiceSettings,
  restarts: readonly PlannedRestart[],
  { runId, outcomes }: { readonly runId: string; readonly outcomes: Map<string, ContainerOutcome> },
  signal?: AbortSignal,
): Promise<void> {
  const reached = (id: string) => outcomes.get(id)?.outcome;
  for (const { container, because } of restarts) {
    const cause = because.find(({ id }) => isReplaced(reached(id)));
    const own = reached(container.id);
    if (signal?.aborted || cause === undefined || isReplaced(own) || own === 'rolled_back') continue;
    const { name, imageId } = container;
    const image = container.settings.Config.Image;
    announceStart(outside, runId, { name, image, from: imageId, to: '' });
    announcePhase(outside, runId, name, 'stopping');
    const outcome = await restart(outside, settings, container, cause.name);
    announceEnd(outside, runId, outcome);
    outcomes.set(container.id, outcome);
  }
}

function isReplaced(outcome: OutcomeKind | undefined): boolean {
  return outcome === 'updated' || outcome === 'restarted';
}

async function restart(
  outside: Outside,
  settings: ServiceSettings,
  container: Container,
  cause: string,
): Promise<ContainerOutcome> {
  const { name, imageId, settings: made } = container;
  const digests = { oldDigest: '', newDigest: '' };
  const base = { name, image: made.Config.Image, oldImageId: imageId, newImageId: imageId, ...digests };
  const why = `restarted after the update of ${quoted(cause)}`;
  try {
    const { fault, isUnproven, outage } = await restartAndProve(outside, settings, container);
    const reason = isUnproven ? `${why}; Upkeep was stopped before its health was proven` : why;
    return fault === undefined
      ? { ...base, outcome: 'restarted', reason, ...outage }
      : { ...base, outcome: 'failed', reason: `${why}: ${fault}`, ...outage };
  } catch (error) {
    return { ...base, outcome: 'failed', reason: `${why}: ${describeError(error)}` };
  }
}

type Restarted = {
  /** The reason of a failure. Undefined when the container runs and is healthy, or `isUnproven`. */
  readonly fault: string | undefined;
  /** It runs, and this process ends before its health is proven. */
  readonly isUnproven?: boolean;
  readonly outage: ReturnType<typeof downtimeOf>;
};

/** A failed restart is repeated once. */
async function restartAndProve(outside: Outside, settings: ServiceSettings, container: Container): Promise<Restarted> {
  const { engine } = outside;
  const { id, state: before } = container;
  const { stop } = stopAndHealthPolicyOf(container, settings);
  const stopTimes = createStopTimes();
  await stopTimes.note(outside, id);
  const outcome = await engine.restartContainer(id, stop);
  if (outcome.kind === 'unknown') await engine.waitUntilStopped(id, maxPendingStopMs(stop));
  const now = await engine.inspectContainer(id);
  if (now !== undefined && !isAlive(now.state.status)) await engine.startContainer(id);
  const message = 'message' in outcome ? outcome.message : '';
  const isUntouched = now !== undefined && now.state.startedAt === before.startedAt;
  if (isUntouched && message !== '') return { fault: message, outage: {} };
  const verdict = await passHealthCheck(outside, settings, id, { ignoresHealthcheck: before.health === 'unhealthy' });
  const { startedAt, finishedAt } = (await engine.inspectContainer(id))?.state ?? before;
  const endedAt = finishedAt === before.finishedAt ? undefined : finishedAt;
  const hasStarted = startedAt !== before.startedAt && isAlive(before.status);
  const outage = hasStarted ? downtimeOf({ stopSentAtMs: stopTimes.sentAtMs(id), endedAt, startedAt }) : {};
  if (verdict.kind === 'left') return { fault: undefined, isUnproven: true, outage };
  if (verdict.kind === 'passed') return { fault: undefined, outage };
  return { fault: message === '' ? verdict.reason : `${message}; ${verdict.reason}`, outage };
}

type AheadOrder = {
  readonly runId: string;
  readonly transactions: readonly PlannedTransaction[];
  /** Whether other engines of the run may stop what carries the network of these pulls. */
  readonly isShared: boolean;
  /** The bytes that the pull for a container downloads; undefined if that is not known. */
  readonly downloadOf: (containerId: string) => number | undefined;
  /** Whether Upkeep runs on the engine's host, so that the disk that it sees is the engine's. */
  readonly isOnItsHost: boolean;
};

/**
 * Pulls the images of all transactions, as many at once as are updated at once, and changes nothing else: a stop may
 * cut the network of a later pull. A failure is kept for the turn of its container. Images for which the disk has no
 * room, and those of the only transaction of a run, are left for that turn too.
 */
export async function fetchAhead(
  outside: Outside,
  settings: ServiceSettings,
  order: AheadOrder,
  signal?: AbortSignal,
): Promise<ImagesAhead> {
  const { transactions, isShared, runId } = order;
  const ahead = new Map<string, ImageAhead>();
  const wanted = transactions.flatMap(({ members }) => members.filter(isPulled));
  const isAlone = transactions.length < 2 && !isShared;
  if (isAlone || wanted.length === 0 || signal?.aborted) return ahead;
  const doing = 'pull images';
  const isPermitted = await requirePermissions(outside, doing, { pulls: true }, signal).then(
    () => true,
    () => false,
  );
  if (!isPermitted) return ahead;
  const byImage = new Map<string, PlannedMember[]>();
  for (const member of wanted) addTo(byImage, newImageOf(member), member);
  const fitting = await thoseThatFit(outside, [...byImage.values()], order, signal);
  const atOnce = settings.rollingRestart ? 1 : settings.updateConcurrency;
  await mapConcurrently(fitting, atOnce, async (members) => {
    for (const member of members) {
      if (signal?.aborted) return;
      const image = await fetchOne(outside, settings, member, runId, signal);
      if (image !== undefined) ahead.set(member.container.id, image);
    }
  });
  return ahead;
}

/** Waits for the network that the update of another container has cut: a program listens a while after its start. */
async function fetchWhenBack(
  outside: Outside,
  settings: ServiceSettings,
  { members }: PlannedTransaction,
  { runId, ahead }: { readonly runId: string; readonly ahead: ImagesAhead },
  signal?: AbortSignal,
): Promise<ImagesAhead> {
  const images = new Map(ahead);
  for (const pauseMs of [0, ...pausesUntilBackMs]) {
    if (pauseMs > 0) await outside.clock.sleep(pauseMs, signal);
    for (const member of members) {
      if (images.get(member.container.id)?.kind !== 'failed') continue;
      const image = await fetchOne(outside, settings, member, runId, signal);
      if (image !== undefined) images.set(member.container.id, image);
    }
    if (!isUnpulled(members, images)) break;
  }
  return images;
}

/** Whether a pull for one of the members has failed, in a way that may pass. */
export function isUnpulled(members: readonly PlannedMember[], ahead: ImagesAhead): boolean {
  return members.some(({ container }) => {
    const image = ahead.get(container.id);
    return (
      image?.kind === 'failed' && image.error.code !== 'registry-denied' && image.error.code !== 'registry-not-found'
    );
  });
}

/** In all about half a minute. */
const pausesUntilBackMs: readonly number[] = [1000, 2000, 4000, 8000, 15_000];

function isPulled({ cause, digest, imageId, mustBeHeld }: PlannedMember): boolean {
  return cause === 'stale' && digest !== undefined && imageId === undefined && mustBeHeld !== true;
}

async function fetchOne(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedMember,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<ImageAhead | undefined> {
  const { container } = planned;
  const { engine, clock } = outside;
  const begunAtMs = clock.monotonicMs();
  announcePhase(outside, runId, container.name, 'pulling');
  try {
    const info = await engine.info(signal);
    const oldImage = await contentOf(outside, container, signal);
    const context = { outside, settings, runId, info, signal };
    const image = await fetchImage(context, planned, oldImage, foreignPlatform(container, oldImage, info));
    const atMs = clock.monotonicMs();
    return { kind: 'fetched', oldImage, image, atMs, tookMs: atMs - begunAtMs };
  } catch (error) {
    if (signal?.aborted) return undefined;
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'failed', error };
  }
}

/**
 * The images, each with its containers, that fit on the disk together, in order; all where the disk or a size is not
 * known.
 */
async function thoseThatFit(
  { engine, freeBytes, log }: Outside,
  images: readonly (readonly PlannedMember[])[],
  { downloadOf, isOnItsHost }: AheadOrder,
  signal: AbortSignal | undefined,
): Promise<readonly (readonly PlannedMember[])[]> {
  if (!isOnItsHost || freeBytes === undefined) return images;
  const folder = (await engine.info(signal)).dataFolder;
  const free = folder === undefined ? undefined : await freeBytes(folder);
  if (free === undefined) return images;
  let left = free * (1 - reserve);
  const fitting = images.filter(([member]) => {
    const need = (member === undefined ? 0 : (downloadOf(member.container.id) ?? 0)) * unpackedTimes;
    if (need > left) return false;
    left -= need;
    return true;
  });
  if (fitting.length < images.length)
    log.info('The disk has no room for all new images at once: some are pulled at the turn of their containers', {
      free: Math.round(free),
      later: images.length - fitting.length,
    });
  return fitting;
}

/** The part of the free space that stays free. */
const reserve = 0.1;

/** Layers are usually two to three times as large on the disk, and lie there compressed too while they are unpacked. */
const unpackedTimes = 3.5;
