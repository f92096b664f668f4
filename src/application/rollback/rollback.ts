import type { Container, ContainerSummary } from '../../domain/container/container.ts';
import { parseDigest } from '../../domain/reference/digest.ts';
import { ServiceError } from '../../domain/errors.ts';
import { failedVersionsIn, failedVersionsOf } from '../../domain/check/failed-version.ts';
import { type Journal, readJournal, transactionLabel } from '../../domain/transaction/journal.ts';
import { indexImages } from '../../domain/container/image-index.ts';
import { containerOwnLabels } from '../../domain/container/label-names.ts';
import { isExcluded } from '../../domain/settings/labels.ts';
import type { UpdateRequest } from '../../domain/run/request.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { ContainerOutcome, Session } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import type { StaleContainer } from '../../domain/plan/update-plan.ts';
import { forgetFailures, rememberFailures } from '../transaction/failed-versions.ts';
import { listAll } from '../engine/list-all.ts';
import type { InRun } from '../check/part-of-run.ts';
import type { Planner } from '../plan/make-plan.ts';
import { findReturning, returnToKept } from './return-to-kept.ts';
import { findServicesBack, rollBackServices } from '../swarm/roll-back-services.ts';
import { withImageVersions } from '../update/session-outcomes.ts';
import { runPlan, untouched } from '../update/run-plan.ts';
import { runSession } from '../update/run-session.ts';
import { runTransaction } from '../transaction/run-transaction.ts';
import type { UpdateLock } from '../update/update-lock.ts';

export type RollbackParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly plan: Planner;
  readonly lock: UpdateLock;
};

/**
 * Undoes the last update with a transaction to the earlier image, which the container's journal names. Containers that
 * were updated together are rolled back together. If the old container was kept, it replaces the new one.
 */
export function createRollback({ outside, settings, plan: planner, lock }: RollbackParts) {
  return async (names: readonly string[], signal?: AbortSignal, order: RollbackOrder = {}): Promise<Session> => {
    const leave = await lock.enterInTurn(signal);
    try {
      const services = await findServicesBack(outside, names, signal);
      const others = names.filter((name) => !services.some((service) => service.name === name));
      const previous = await findPrevious(outside, others, signal);
      const rollBack = async (runId: string) => {
        order.onBegin?.(runId);
        const { plan } = await planner(previous, await listAll(outside, signal), signal);
        const perform = returnToKept(await findReturning(outside, plan, signal), runTransaction);
        const reached = await runPlan(outside, settings, plan, { runId, perform }, signal);
        const images = indexImages(await outside.engine.listImages());
        const outcomes = [...reached.values()].map((outcome) => withImageVersions(inWords(outcome), images));
        await rememberRolledBack(outside, outcomes);
        const refused = plan.refused.map(({ name, reason }) => untouched(imageOf(name, previous), 'skipped', reason));
        const ofServices = await rollBackServices(outside, settings, services, runId, signal);
        return [...outcomes, ...refused, ...ofServices];
      };
      return await runSession(outside, order.trigger ?? 'command', rollBack, order.part?.runId);
    } finally {
      leave();
    }
  };
}

type RollbackOrder = InRun<Partial<Pick<UpdateRequest, 'trigger' | 'onBegin'>>>;

function imageOf(name: string, previous: readonly StaleContainer[]) {
  return { name, image: previous.find((one) => one.name === name)?.reference ?? '', imageId: '' };
}

function inWords(outcome: ContainerOutcome): ContainerOutcome {
  if (outcome.outcome !== 'updated') return outcome;
  return { ...outcome, reason: outcome.reason || 'back to the image from before its last update', isTakenBack: true };
}

/** Stores the rolled-back versions as failed. Forgets stored failures of the restored versions. */
async function rememberRolledBack(outside: Outside, outcomes: readonly ContainerOutcome[]): Promise<void> {
  const back = outcomes.filter(({ outcome }) => outcome === 'updated');
  if (back.length === 0) return;
  await rememberFailures(
    outside,
    back.map(({ name, oldImageId, newImageId }) => ({ name, oldImageId: newImageId, failedImageId: oldImageId })),
  );
  const remembered = failedVersionsOf(await outside.engine.listImages());
  const overcome = back.flatMap(({ name, newImageId }) =>
    failedVersionsIn(remembered, name).filter(({ imageId }) => imageId === newImageId),
  );
  await forgetFailures(outside, overcome);
}

async function findPrevious(
  outside: Outside,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly StaleContainer[]> {
  const listed = await outside.engine.listContainers({}, signal);
  const found = new Map<string, StaleContainer>();
  for (const name of names) {
    const summary = listed.find((container) => container.name === name);
    if (summary === undefined) throw refuse(name, 'no container is called so');
    if (summary.id === outside.instance.containerId)
      throw refuse(name, 'this command runs in it: run it on the host, or in a container of its own');
    const { container, journal } = await readLastUpdate(outside, name, summary.id, signal);
    found.set(container.id, await previousOf(outside, container, journal, signal));
    for (const other of await movedTogether(outside, journal, listed, signal)) {
      if (found.has(other.container.id) || other.container.imageId === other.journal.oldImageId) continue;
      found.set(other.container.id, await previousOf(outside, other.container, other.journal, signal));
    }
  }
  return [...found.values()];
}

type LastUpdate = { readonly container: Container; readonly journal: Journal };

async function readLastUpdate(
  { engine }: Outside,
  name: string,
  id: string,
  signal: AbortSignal | undefined,
): Promise<LastUpdate> {
  const container = await engine.inspectContainer(id, signal);
  if (container === undefined) throw refuse(name, 'somebody removed it just now');
  if (isExcluded(container)) throw refuse(name, 'it is disabled by its label');
  const reading = readJournal(containerOwnLabels(container.settings.Config.Labels ?? {}, container.imageLabels));
  if (reading.kind === 'foreign') throw refuse(name, reading.reason);
  if (reading.kind === 'none' && container.imageLabels === undefined)
    throw refuse(name, 'the engine no longer has its image, so its last update cannot be read');
  if (reading.kind === 'none') throw refuse(name, 'it has not been updated since it was created');
  if (reading.journal.role === 'standin') throw refuse(name, 'its last update was rolled back already');
  return { container, journal: reading.journal };
}

/** Other members of the last update's group that have not changed since. */
async function movedTogether(
  outside: Outside,
  { transaction, members }: Journal,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
): Promise<readonly LastUpdate[]> {
  if (members.length === 1) return [];
  const group = listed.filter(({ labels }) => labels[transactionLabel] === transaction);
  return Promise.all(group.map(({ id, name }) => readLastUpdate(outside, name, id, signal)));
}

async function previousOf(
  { engine }: Outside,
  { id, name, imageId }: Container,
  { oldImageId, oldDigest, reference, formerReference }: Journal,
  signal: AbortSignal | undefined,
): Promise<StaleContainer> {
  if (oldImageId === '' || oldImageId === imageId)
    throw refuse(name, 'its last update kept its image: it was only re-created with another container');
  const digest = parseDigest(oldDigest);
  const held = await engine.inspectImage(oldImageId, signal);
  if (held === undefined && digest === undefined)
    throw refuse(name, 'the engine no longer has its former image, and no registry can supply that image');
  const references =
    formerReference === undefined ? { reference } : { reference: formerReference, formerReference: reference };
  return { id, name, ...references, digest, imageId: oldImageId };
}

function refuse(name: string, why: string): ServiceError {
  return new ServiceError('not-found', `Cannot roll back ${quoted(name)}: ${why}`, {
    remedy: 'nothing was changed',
  });
}
