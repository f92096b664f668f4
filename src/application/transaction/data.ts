/** The steps that copy and restore the data of an update, with helper containers beside the data. */

import { isAlive, type Container, type DataItem, type Image } from '../../domain/container/container.ts';
import { isFailure, type CallOutcome } from '../../domain/outside/engine.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { otherWriter, provenItems } from '../../domain/plan/saved-data.ts';
import type { DataFacts, DataHelper, JournaledData } from '../../domain/transaction/facts.ts';
import {
  copyLabels,
  dataHelperRecipe,
  dataOfLabel,
  dataVolumeNames,
  helperWords,
  labelsOfCopy,
  noCopyExitCode,
  ownerOfCopy,
  readCopied,
  readFigures,
  whyTooMuch,
  writeDataOrder,
  type DataFigures,
  type DataOrder,
} from '../../domain/transaction/data-helper.ts';
import type { StepOf } from '../../domain/transaction/member.ts';
import {
  helperName,
  dataHelperRoles,
  helperMarkTag,
  type DataHelperRole,
} from '../../domain/transaction/transaction-names.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { quoted } from '../../domain/text/printable.ts';
import { inspectionsAtOnce, mapConcurrently, endsSoon } from '../async/concurrency.ts';
import { nothingPrepared, type Performed, type StepContext } from './create-successor.ts';
import { untag, type OpenTransaction } from './open-transaction.ts';
import { knownOwnContainer } from './prepare.ts';

/** Reads the helpers of a transaction. Undefined if it copies no data. */
export async function readDataFacts(outside: Outside, transaction: OpenTransaction): Promise<DataFacts | undefined> {
  const data = dataOf(transaction);
  if (data === undefined) return undefined;
  const read = async (role: DataHelperRole): Promise<DataHelper | undefined> => {
    const helper = await helperOf({ outside, transaction }, data, role);
    if (helper?.isProven !== true) return undefined;
    const { status, exitCode, startedAt } = helper.container.state;
    return { status, exitCode, startedAt };
  };
  const [save, restore] = await Promise.all([read('save'), read('restore')]);
  return { save, restore };
}

/** All members have the same. */
function dataOf({ members }: Pick<OpenTransaction, 'members'>): JournaledData | undefined {
  return members.find(({ data }) => data !== undefined)?.data;
}

type Context = Pick<StepContext, 'outside' | 'transaction'>;

type FoundHelper = {
  readonly container: Container;
  /** Its mark shows that Upkeep has made it. Anybody can write its name and labels. */
  readonly isProven: boolean;
};

/** Undefined if there is none with the label of this transaction. */
async function helperOf(
  { outside: { engine }, transaction }: Context,
  { leader }: JournaledData,
  role: DataHelperRole,
): Promise<FoundHelper | undefined> {
  const container = await engine.inspectContainer(helperName(leader, role));
  if (container?.settings.Config.Labels?.[dataOfLabel] !== transaction.id) return undefined;
  return { container, isProven: transaction.dataHelpers.has(container.id) };
}

/** Makes the reserve, and measures the data before anything is stopped. */
export async function measureData(context: StepContext): Promise<Performed> {
  const { outside, transaction, prepared } = context;
  const [data, limits] = [dataOf(transaction), prepared?.data?.limits];
  if (data === undefined || limits === undefined) return nothingPrepared;
  const made = await makeReserve(context, data);
  if (isFailure(made)) return made;
  const helper = await createHelper(context, data, 'measure');
  if (helper.kind !== 'done') return helper;
  const run = await runHelper(context, helper.id, { limitMs: limits.timeoutMs, isRead: true });
  // The engine cannot remove a volume that a container uses.
  const removed = await outside.engine.removeContainer(helper.id);
  if (run.kind === 'late') return declined(`measuring its data took more than ${formatDuration(limits.timeoutMs)}`);
  if (run.kind !== 'ended') return run;
  if (isFailure(removed)) return removed;
  const figures = readFigures(run.log);
  if (run.exitCode !== 0 || figures === undefined)
    return declined(`its data cannot be copied (${helperWords(run.log, run.exitCode)})`);
  const promised = await promisedTo(context);
  const obstacle = whyTooMuch(figures, limits, [...promised.values()]);
  if (obstacle !== undefined) return declined(obstacle);
  promised.set(transaction.id, figures);
  return { kind: 'measured', figures };
}

/** By engine: the figures of copies that are not complete, by the id of their transaction. */
const promisedOn = new WeakMap<Outside['engine'], Map<string, DataFigures>>();

/** Copies of other updates under way. Several would find the same space free. One that has ended has no reserve. */
async function promisedTo({ outside: { engine }, transaction }: Context): Promise<Map<string, DataFigures>> {
  const promised = promisedOn.get(engine) ?? new Map<string, DataFigures>();
  promisedOn.set(engine, promised);
  promised.delete(transaction.id);
  if (promised.size === 0) return promised;
  const open = new Set((await engine.listVolumes(dataOfLabel)).map(({ labels }) => labels[dataOfLabel]));
  for (const id of promised.keys()) if (!open.has(id)) promised.delete(id);
  return promised;
}

/**
 * Makes the reserve, after a try of the calls that only a rollback needs. Without the list of volumes no data come back,
 * and without their removal a full disk stays full, so a proxy that forbids one must be noticed before anything is
 * stopped.
 */
async function makeReserve({ outside: { engine }, transaction }: Context, data: JournaledData): Promise<CallOutcome> {
  const { reserve } = dataVolumeNames({ leader: data.leader, transaction: transaction.id });
  try {
    const volumes = await engine.listVolumes(`${dataOfLabel}=${transaction.id}`);
    // There is none yet, unless an earlier call has made it.
    const removed = volumes.some(({ name }) => name === reserve) ? undefined : await engine.removeVolume(reserve);
    if (removed !== undefined && isFailure(removed)) return namingCalls(removed);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
    return namingCalls({ kind: 'refused', status: 403, message: error.message, isForbidden: true });
  }
  return namingCalls(await engine.createVolume(reserve, { [dataOfLabel]: transaction.id }));
}

/** One change of a proxy is enough. */
function namingCalls(outcome: CallOutcome): CallOutcome {
  if (outcome.kind !== 'refused' || outcome.isForbidden !== true) return outcome;
  const calls = 'a copy of data needs GET /volumes, POST /volumes/create and DELETE /volumes/{name}';
  return { ...outcome, message: `${outcome.message}; ${calls}` };
}

function declined(message: string): Performed {
  return { kind: 'declined', message, deferred: false };
}

/** Creates the volume of the copy, and the helpers, so that nothing is left to create while the container is down. */
export async function armData(context: StepContext, figures: DataFigures | undefined): Promise<Performed> {
  const { outside, transaction } = context;
  const data = dataOf(transaction);
  if (data === undefined) return nothingPrepared;
  const { copy } = dataVolumeNames({ leader: data.leader, transaction: transaction.id });
  const made = await outside.engine.createVolume(copy, labelsOfCopy(data, transaction.id, figures));
  if (isFailure(made)) return made;
  for (const role of ['save', 'restore'] as const) {
    const helper = await createHelper(context, data, role);
    if (helper.kind !== 'done') return helper;
  }
  return { kind: 'done' };
}

/** Creates the helper that restores the data of an earlier update, while the new version still runs. */
export async function armRestore(context: HelperContext): Promise<Performed> {
  const data = dataOf(context.transaction);
  if (data === undefined) return nothingPrepared;
  const helper = await createHelper(context, data, 'restore');
  return helper.kind === 'done' ? { kind: 'done' } : helper;
}

type HelperContext = Context & Pick<StepContext, 'settings'> & Partial<Pick<StepContext, 'prepared'>>;

/**
 * The image that the update was prepared with in this process. Otherwise it is the one that `--data-image` names, or that
 * of the container that we run in: a journal can be forged, and a helper may read every file of the host.
 */
async function imageOfHelper({ outside, settings, prepared }: HelperContext): Promise<Image | undefined> {
  const { dataImage } = settings;
  const named = prepared?.data?.data.imageId ?? dataImage ?? (await knownOwnContainer(outside))?.imageId;
  return named === undefined ? undefined : outside.engine.inspectImage(named);
}

function refused(message: string): Extract<Performed, { kind: 'refused' }> {
  return { kind: 'refused', status: 0, message };
}

/** `trusted.*` attributes are shown to such a container only, and to its helper: https://man7.org/linux/man-pages/man7/xattr.7.html */
function mayAdministrate({ settings: { HostConfig } }: Container): boolean {
  const added = ((HostConfig['CapAdd'] ?? []) as readonly string[]).map((name) => name.toUpperCase());
  return HostConfig['Privileged'] === true || added.some((name) => /^(?:ALL|(?:CAP_)?SYS_ADMIN)$/.test(name));
}

type Created = { readonly kind: 'done'; readonly id: string } | Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

/** Creates and marks a helper, or finds the one that this transaction already has. */
async function createHelper(context: HelperContext, data: JournaledData, role: DataHelperRole): Promise<Created> {
  const { outside, settings, transaction } = context;
  const { engine, seal } = outside;
  const found = await helperOf(context, data, role);
  if (found?.isProven === true) return { kind: 'done', id: found.container.id };
  const removed = found === undefined ? undefined : await engine.removeContainer(found.container.id);
  if (removed !== undefined && isFailure(removed)) return removed;
  const image = await imageOfHelper(context);
  if (image === undefined) return refused('this engine has no image for its helper: name one with --data-image');
  const olds = await oldContainers(context);
  const items = provenItems(data.items, olds, settings.dataFolders);
  if (typeof items === 'string') return refused(items);
  const order: DataOrder = {
    role,
    transaction: transaction.id,
    members: transaction.members,
    data: { ...data, items, imageId: image.id },
  };
  const recipe = dataHelperRecipe({
    ...order,
    image,
    engine: await engine.info(),
    isPrivileged: olds.some(mayAdministrate),
    seal: seal?.sign(writeDataOrder(order)),
  });
  const name = helperName(data.leader, role);
  const created = await engine.createContainer(name, recipe);
  if (created.kind !== 'done') {
    const isTaken = created.kind === 'refused' && created.status === 409;
    return isTaken ? { ...created, message: `${quoted(name)} is someone else's container` } : created;
  }
  const tag = helperMarkTag(created.id, transaction.id, seal?.sign);
  const marked = await engine.tagImage(image.id, tag);
  if (isFailure(marked)) return marked;
  transaction.dataHelpers.set(created.id, tag);
  return { kind: 'done', id: created.id };
}

export async function saveData(context: StepContext): Promise<Performed> {
  const { outside, transaction, prepared, figures } = context;
  const [data, limits] = [dataOf(transaction), prepared?.data?.limits];
  if (data === undefined || limits === undefined) return nothingPrepared;
  const helper = await helperOf(context, data, 'save');
  const failed = (why: string) =>
    declined(`its data could not be copied (${why}): the old version runs again, and its data was not touched`);
  if (helper?.isProven !== true) return failed('someone removed the helper');
  const { id } = helper.container;
  // An earlier call may have started it, and its answer was lost. What it has copied was copied too early.
  if (isAlive(helper.container.state.status)) {
    const stopped = await outside.engine.stopContainer(id, { timeoutSeconds: 0 });
    if (isFailure(stopped)) return stopped;
  }
  const run = await runHelper(context, id, {
    limitMs: limits.timeoutMs,
    totalBytes: figures?.canClone === true ? undefined : figures?.bytes,
  });
  if (run.kind === 'late') {
    const killed = await outside.engine.removeContainer(id);
    return isFailure(killed) ? killed : failed(`it took more than ${formatDuration(limits.timeoutMs)}`);
  }
  if (run.kind !== 'ended') return run;
  promisedOn.get(outside.engine)?.delete(transaction.id);
  return run.exitCode === 0 ? { kind: 'done' } : failed(helperWords(run.log, run.exitCode));
}

/** Restores the data while no container of the transaction runs. It may be repeated at any time before the first start. */
export async function restoreData(context: StepContext): Promise<Performed> {
  const { outside, transaction, settings } = context;
  const { engine } = outside;
  const data = dataOf(transaction);
  if (data === undefined) return nothingPrepared;
  const olds = await oldContainers(context);
  const items = provenItems(data.items, olds, settings.dataFolders);
  if (typeof items === 'string') return refused(items);
  const writer = await runningWriter(context, olds, items);
  if (writer !== undefined)
    return refused(`${quoted(writer.name)} runs and writes to the ${writer.item.title}: stop it first`);
  const save = await helperOf(context, data, 'save');
  if (save !== undefined && isAlive(save.container.state.status)) {
    const killed = await engine.removeContainer(save.container.id);
    if (isFailure(killed)) return killed;
  }
  const { copy } = dataVolumeNames({ leader: data.leader, transaction: transaction.id });
  const volumes = await engine.listVolumes(`${dataOfLabel}=${transaction.id}`);
  // A helper with this mount would create an empty volume.
  const found = volumes.find(({ name }) => name === copy);
  if (found === undefined) return { kind: 'no copy' };
  const helper = await createHelper(context, data, 'restore');
  if (helper.kind !== 'done') return helper;
  const run = await runHelper(context, helper.id, { totalBytes: Number(found.labels[copyLabels.bytes] ?? 0) });
  if (run.kind !== 'ended') return run.kind === 'late' ? { kind: 'unknown', message: 'it still runs' } : run;
  const { exitCode, log } = run;
  if (exitCode === 0) return { kind: 'done' };
  if (exitCode === noCopyExitCode) return { kind: 'never saved' };
  if (ownExitCodes.has(exitCode)) return refused(helperWords(log, exitCode));
  return { kind: 'unknown', message: `its helper ended with code ${exitCode}` };
}

/** The exit codes of the program itself. An engine that is killed, or kills it, reports others. */
const ownExitCodes: ReadonlySet<number> = new Set([1, 2, 4, 5, 6, 8, 9]);

async function oldContainers({ outside, transaction }: Context): Promise<readonly Container[]> {
  const { members, autoRemoveReplicas } = transaction;
  const ids = members.flatMap(({ oldId }) => [oldId, autoRemoveReplicas.get(oldId) ?? '']).filter((id) => id !== '');
  const found = await Promise.all(ids.map((id) => outside.engine.inspectContainer(id)));
  return found.filter((container) => container !== undefined);
}

/** A container outside of the transaction that runs and writes to the data. */
async function runningWriter(
  { outside: { engine }, transaction }: Context,
  olds: readonly Container[],
  items: readonly DataItem[],
) {
  const [owner] = olds;
  if (owner === undefined) return undefined;
  const { members, successors, autoRemoveReplicas } = transaction;
  const group = new Set([
    ...members.map(({ oldId }) => oldId),
    ...successors.values(),
    ...autoRemoveReplicas.values(),
    ...transaction.dataHelpers.keys(),
  ]);
  const running = (await engine.listContainers()).filter(({ id, status }) => isAlive(status) && !group.has(id));
  const inspected = await mapConcurrently(running, inspectionsAtOnce, ({ id }) => engine.inspectContainer(id));
  return otherWriter(owner, items, { containers: inspected.filter((one) => one !== undefined), group });
}

type HelperRun =
  | { readonly kind: 'ended'; readonly exitCode: number; readonly log: string }
  | { readonly kind: 'late' }
  | { readonly kind: 'left' }
  | Exclude<CallOutcome, { kind: 'done' | 'noop' }>;

type HelperWait = {
  /** Default: as long as it takes, because a restore that is given up would leave mixed data. */
  readonly limitMs?: number;
  /** Its log matters also after a success. */
  readonly isRead?: boolean;
  /** Of a copy that takes long enough to tell its progress. */
  readonly totalBytes?: number | undefined;
};

/**
 * Starts a helper unless it runs, and waits for its end. It continues without this process, whose end only ends the
 * wait.
 */
async function runHelper(
  { outside, onCopied }: StepContext,
  id: string,
  { limitMs = Infinity, isRead = false, totalBytes = 0 }: HelperWait,
): Promise<HelperRun> {
  const { engine, clock } = outside;
  const started = await engine.startContainer(id);
  if (isFailure(started)) return started;
  const soon = endsSoon(outside);
  const untilMs = clock.monotonicMs() + limitMs;
  const isTold = totalBytes > 0 && onCopied !== undefined;
  try {
    for (;;) {
      const waitMs = Math.min(isTold ? tellEveryMs : maxWaitMs, untilMs - clock.monotonicMs());
      if (waitMs <= 0) return { kind: 'late' };
      await engine.waitUntilStopped(id, waitMs, soon.signal);
      const container = await engine.inspectContainer(id);
      if (container === undefined) return { kind: 'unknown', message: 'someone removed the helper' };
      if (isAlive(container.state.status)) {
        if (isTold) {
          const bytes = readCopied(await engine.containerLogs(id, { tail: 1 }).catch(() => ''));
          if (bytes !== undefined) onCopied({ bytes, totalBytes });
        }
        continue;
      }
      const { exitCode } = container.state;
      const log = exitCode === 0 && !isRead ? '' : await engine.containerLogs(id, { tail: 20 });
      return { kind: 'ended', exitCode, log };
    }
  } catch (error) {
    if (soon.signal.aborted) return { kind: 'left' };
    throw error;
  } finally {
    soon.stop();
  }
}

/** One request of many for a long copy: a proxy may end longer ones. */
const maxWaitMs = 60_000;

const tellEveryMs = 3000;

export async function freeReserve({ outside: { engine }, transaction }: StepContext): Promise<Performed> {
  const data = dataOf(transaction);
  if (data === undefined) return nothingPrepared;
  const { reserve } = dataVolumeNames({ leader: data.leader, transaction: transaction.id });
  const volumes = await engine.listVolumes(`${dataOfLabel}=${transaction.id}`);
  return volumes.some(({ name }) => name === reserve) ? engine.removeVolume(reserve) : { kind: 'noop' };
}

/** Removes what the transaction has made for the data. After a commit, earlier copies of the container go too. */
export async function clearData(
  context: StepContext,
  { keepsCopy, isCommitted }: StepOf<'clearData'>,
): Promise<Performed> {
  const { outside, transaction } = context;
  const { engine } = outside;
  const data = dataOf(transaction);
  if (data === undefined) return nothingPrepared;
  promisedOn.get(engine)?.delete(transaction.id);
  for (const role of dataHelperRoles) {
    const helper = await helperOf(context, data, role);
    if (helper === undefined) continue;
    const removed = await engine.removeContainer(helper.container.id);
    if (isFailure(removed)) return removed;
  }
  for (const [id, tag] of transaction.dataHelpers) {
    const untagged = await untag(outside, tag);
    if (isFailure(untagged)) return untagged;
    transaction.dataHelpers.delete(id);
  }
  const { copy, reserve } = dataVolumeNames({ leader: data.leader, transaction: transaction.id });
  // By name, not by label: a power cut may bring back a removed volume without its labels.
  for (const name of keepsCopy ? [reserve] : [reserve, copy]) {
    const removed = await engine.removeVolume(name);
    if (isFailure(removed)) return removed;
  }
  // A forged journal may name the container of someone else.
  const isOwn = transaction.members.some(({ name }) => name === data.leader);
  if (isCommitted && isOwn && data.keepsFormer !== true) await removeFormerCopies(outside, data.leader, transaction.id);
  return { kind: 'done' };
}

/** Copies of earlier updates of the same container, which the one of this update replaces. */
async function removeFormerCopies({ engine }: Pick<Outside, 'engine'>, leader: string, transaction: string) {
  for (const volume of await engine.listVolumes(`${copyLabels.container}=${leader}`)) {
    const owner = ownerOfCopy(volume);
    if (owner?.kind !== 'labelled' || owner.leader !== leader || owner.transaction === transaction) continue;
    await engine.removeVolume(volume.name);
  }
}
