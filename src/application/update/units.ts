import { isAlive, type Container } from '../../domain/container/container.ts';
import { openUnitRecords, type UnitRecord } from '../../domain/container/quadlet.ts';
import { digestOfRepository, engineReference, tryParseImageReference } from '../../domain/image/image-reference.ts';
import { formatPlatform, runsOn } from '../../domain/image/platform.ts';
import { isFailure } from '../../domain/outside/engine.ts';
import type { Outside, SharedRecords, UnitOrder, Units } from '../../domain/outside/outside.ts';
import type { PlannedMember } from '../../domain/plan/update-plan.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { downtimeOf, type ContainerOutcome, type UpdatePhase } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { describeError, describeWithRemedy, ServiceError } from '../../domain/text/errors.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { quoted } from '../../domain/text/printable.ts';
import { markRepository } from '../../domain/transaction/transaction-names.ts';
import { contentOf } from '../engine/listing.ts';
import { requirePermissions } from '../engine/permissions.ts';
import { passHealthCheck, stopAndHealthPolicyOf } from '../health/health.ts';
import { askBeforeUpdate, tellAfterUpdate } from '../health/hooks.ts';
import { titleOfProbe, whyNotAskable } from '../health/probe.ts';
import type { RecoveryOrder } from '../recovery/recover.ts';
import { fetchImage, foreignPlatform, stillHeld, type WhileAwaitingHealth } from '../transaction/create-successor.ts';
import { createStopTimes, untag } from '../transaction/open-transaction.ts';
import {
  announceEnd,
  announcePhase,
  announceStart,
  describeMember,
  leftToNextStart,
  rememberFailures,
  unprepared,
} from '../transaction/outcomes.ts';
import { PreparationError } from '../transaction/prepare.ts';
import { createPhaseWatch, type RunTransaction, type TransactionRun } from '../transaction/run-transaction.ts';

/** Updates containers whose systemd units make them. Its methods never throw. */
export type UnitKeeper = {
  /** The same transactions; that of a container of a unit is an update of the tag and a restart of the unit. */
  readonly restarting: (perform: RunTransaction) => RunTransaction;
  /**
   * Finishes or takes back what an earlier process has left. The caller holds the update lock. With `background`, a repair
   * that waits for its unit goes on there, so that other updates need not wait for it.
   */
  readonly settle: (signal?: AbortSignal) => Promise<readonly RecoveredTransaction[]>;
};

/**
 * An update in this order: record, mark of the old image, file, tag, restart, proof. Each step can be repeated, and the
 * way back is the same from everywhere: file, tag, and a restart unless the old image runs. So the record alone, which
 * outlives the process, tells a later start everything.
 */
export function createUnitKeeper(
  outside: Outside,
  settings: ServiceSettings,
  records: SharedRecords<UnitRecord> | undefined,
  background?: RecoveryOrder['background'],
): UnitKeeper {
  const { engine, clock, instance, units } = outside;

  /** False if no later start would know of it. */
  async function note(record: UnitRecord): Promise<boolean> {
    return (await records?.append([record])) === 'kept';
  }

  async function open(): Promise<readonly UnitRecord[]> {
    return openUnitRecords((await records?.read()) ?? []);
  }

  async function forward(record: UnitRecord, by: Steps): Promise<Proof> {
    const failed = (reason: string): Proof => ({ kind: 'failed', reason, isOwn: false });
    const marked = await engine.tagImage(record.oldImageId, markOf(record));
    if (isFailure(marked)) return failed(`the old image could not be marked: ${marked.message}`);
    const { id, file, formerReference: from, reference: to } = record;
    if (from !== undefined) {
      const written = await by.units.write({ id, file, from, to, onWriting: by.onWriting });
      if (isFailure(written)) return failed(written.message);
    }
    const tagged = await engine.tagImage(record.newImageId, engineName(to));
    if (isFailure(tagged)) return failed(`the tag could not be moved: ${tagged.message}`);
    by.enter('stopping');
    await by.onStop();
    const restarted = await by.units.restart(record.unit);
    if (isFailure(restarted)) {
      const isTried = (await find(record))?.id !== record.oldId;
      return { kind: 'failed', reason: `its unit did not start: ${restarted.message}`, isOwn: isTried };
    }
    by.enter('checking health');
    return by.whileUnproven(() => prove(outside, record, by.units));
  }

  /** Whether the new version runs, is healthy, and is what the unit runs. */
  async function prove(world: Outside, record: UnitRecord, by: Units): Promise<Proof> {
    const { newImageId, wasUnhealthy = false, unit } = record;
    const failed = (reason: string, isOwn = false): Proof => ({ kind: 'failed', reason, isOwn });
    const container = await find(record);
    if (container === undefined) return failed('its unit has started it, and it is gone', true);
    if (container.imageId !== newImageId) return failed('its unit has started another image');
    try {
      const verdict = await passHealthCheck(world, settings, container.id, { ignoresHealthcheck: wasUnhealthy });
      if (verdict.kind === 'left') return verdict;
      if (verdict.kind === 'failed') return failed(verdict.reason, verdict.ownFault);
    } catch (error) {
      if ((await find(record))?.id === container.id) throw error;
      return failed('it ended, and its unit started it again', true);
    }
    const state = await by.activeState(unit);
    if (state === undefined) return { kind: 'unknown', reason: `systemd does not tell the state of ${quoted(unit)}` };
    return state === 'active' ? { kind: 'passed', container } : failed(`its unit is ${quoted(state)}`, true);
  }

  /** While a unit starts a container again and again, Podman may fail to show it: it is asked a few times. */
  async function find({ container: name }: UnitRecord): Promise<Container | undefined> {
    for (let looks = 1; ; looks += 1) {
      try {
        return await engine.inspectContainer(name);
      } catch (error) {
        if (looks === maxLooks) throw error;
        await clock.sleep(betweenLooksMs);
      }
    }
  }

  /** Brings the old version back. Returns why it is not back; undefined when it runs, `unproven` when this process ends. */
  async function goBack(world: Outside, record: UnitRecord, by: Units): Promise<string | undefined> {
    const { id, file, reference, formerReference = reference, oldImageId, edit, unit } = record;
    try {
      if (edit !== undefined) {
        const order = { id, file, from: reference, to: formerReference, interrupted: edit };
        const written = await by.write({ ...order, onWriting: () => Promise.resolve() });
        if (isFailure(written)) return written.message;
      }
      const tagged = await engine.tagImage(oldImageId, engineName(formerReference));
      if (isFailure(tagged)) return `its tag could not be put back: ${tagged.message}`;
      let why = 'its unit does not run it';
      // A restart of before may still be under way, and have taken the new image already.
      for (let tries = 0; tries < maxRestarts; tries += 1) {
        const state = await stateOfOld(world, record, by).catch(() => 'not' as const);
        if (state !== 'not') return state === 'left' ? unproven : undefined;
        const restarted = await by.restart(unit);
        if (isFailure(restarted)) why = `its unit does not start: ${restarted.message}`;
      }
      const state = await stateOfOld(world, record, by);
      if (state === 'left') return unproven;
      return state === 'runs' ? undefined : why;
    } catch (error) {
      return describeError(error);
    }
  }

  /** `left`: it runs, and this process ends before it is proven. */
  async function stateOfOld(world: Outside, record: UnitRecord, by: Units): Promise<'runs' | 'not' | 'left'> {
    const { oldImageId, unit } = record;
    const isActive = async () => (await by.activeState(unit)) === 'active';
    const found = await find(record);
    if (found?.imageId !== oldImageId || !isAlive(found.state.status) || !(await isActive())) return 'not';
    if (world.ending?.aborted) return 'left';
    // It has to stay up, as long as a new version.
    const verdict = await passHealthCheck(world, settings, found.id, { ignoresHealthcheck: true });
    if (verdict.kind === 'left') return 'left';
    return verdict.kind === 'passed' && (await isActive()) ? 'runs' : 'not';
  }

  /** The mark goes first: without its record nobody would look for it. */
  async function finish(record: UnitRecord): Promise<void> {
    const outcome = await untag(outside, markOf(record)).catch(() => undefined);
    if (outcome !== undefined && isFailure(outcome))
      outside.log.debug('The mark of an old image stays', { container: record.container, error: outcome.message });
    await note({ ...record, step: 'over', atMs: clock.nowMs() });
  }

  async function update(
    world: Outside,
    member: PlannedMember & { readonly unit: NonNullable<PlannedMember['unit']> },
    run: TransactionRun & { readonly enter: (phase: UpdatePhase) => void },
    signal: AbortSignal | undefined,
  ): Promise<ContainerOutcome> {
    const { container, unit, reference, formerReference } = member;
    const { id: oldId, name } = container;
    const { oldImageId, newImageId, oldDigest } = await prepare(world, settings, member, run, signal);
    const base = { ...describeMember({ planned: member, oldDigest }), newImageId };
    const untouched = (outcome: 'failed' | 'deferred', reason: string): ContainerOutcome => ({
      ...base,
      outcome,
      reason,
    });
    if (newImageId === oldImageId)
      return { ...base, outcome: 'fresh', reason: 'the newer digest holds the same image' };
    if (units === undefined) return untouched('failed', 'systemd cannot be reached');
    if ((await open()).some((record) => record.container === name))
      return untouched('deferred', 'its last update is not over yet: the next run or start of Upkeep tries again');
    const answer = await askBeforeUpdate({ outside: world, settings, signal }, oldId);
    if (answer.kind === 'declined') return untouched(answer.deferred ? 'deferred' : 'failed', answer.message);
    if (signal?.aborted) return { ...base, outcome: 'skipped', reason: 'the run was cancelled' };
    const begun: UnitRecord = {
      ...{ id: world.newId(), step: 'begun', atMs: clock.nowMs(), owner: instance.owner },
      ...{ container: name, unit: unit.name, file: unit.file, oldId, oldImageId, newImageId, reference },
      ...(formerReference !== undefined && { formerReference }),
      ...(container.state.health === 'unhealthy' && { wasUnhealthy: true }),
    };
    if (!(await note(begun))) {
      await note({ ...begun, step: 'over' });
      return untouched('failed', notKept);
    }
    let record = begun;
    const onWriting: UnitOrder['onWriting'] = async (edit) => {
      record = { ...begun, edit };
      if (!(await note(record))) throw new Error(notKept);
    };
    if (unit.isAutoUpdated)
      world.log.info('podman auto-update updates a container too', { container: name, unit: unit.name });
    const stopTimes = createStopTimes();
    const { enter, whileUnproven = (wait) => wait() } = run;
    const steps = { units, enter, whileUnproven, onWriting, onStop: () => stopTimes.note(world, oldId) };
    const proof = await forward(begun, steps).catch((error: unknown): Proof => ({
      kind: 'failed',
      reason: describeError(error),
      isOwn: false,
    }));
    const outage = (now: Container | undefined) =>
      downtimeOf({ stopSentAtMs: stopTimes.sentAtMs(oldId), endedAt: undefined, startedAt: now?.state.startedAt });
    if (proof.kind === 'left') return { ...base, outcome: 'deferred', reason: leftToNextStart };
    if (proof.kind === 'unknown')
      return { ...base, outcome: 'failed', reason: `${proof.reason}; ${triesAgain}`, isUnfinished: true };
    if (proof.kind === 'passed') {
      await finish(record);
      const { id: newContainerId } = proof.container;
      const told = await tellAfterUpdate({ outside: world, settings, signal }, newContainerId, name);
      const reason = told.kind === 'warned' ? told.message : '';
      return { ...base, newContainerId, image: reference, outcome: 'updated', reason, ...outage(proof.container) };
    }
    enter('rolling back');
    const failure = { name, oldImageId, failedImageId: newImageId };
    const stuck = await goBack(outside, record, units);
    if (stuck !== undefined) {
      if (stuck === unproven && proof.isOwn) await rememberFailures(world, [failure]);
      const reason = `${proof.reason}; the old version is not back yet: ${stuck}; ${triesAgain}`;
      return { ...base, outcome: 'failed', reason, isUnfinished: true };
    }
    await finish(record);
    const now = await find(record).catch(() => undefined);
    if (now?.id === oldId) return untouched('failed', proof.reason);
    if (proof.isOwn) await rememberFailures(world, [failure]);
    const rolledBack = { ...base, outcome: 'rolled_back', reason: proof.reason, ...outage(now) } as const;
    return proof.isOwn ? { ...rolledBack, isTakenBack: true } : rolledBack;
  }

  /** `onWait` is called before it waits for the unit. */
  async function settleOne(world: Outside, record: UnitRecord, onWait?: () => void): Promise<RecoveredTransaction> {
    const ended = (result: RecoveredTransaction['result'], reason: string): RecoveredTransaction => ({
      ...{ containers: [record.container], result, reason },
      ...(result === 'left' && { isPending: true }),
    });
    const pending = (why: string) => ended('left', `repair pending: ${why}`);
    if (units === undefined) return pending('systemd cannot be reached');
    const container = await find(record);
    const state = await units.activeState(record.unit);
    if (state === undefined) return pending(`systemd does not tell the state of ${quoted(record.unit)}`);
    if (container !== undefined && container.imageId === record.newImageId && container.id !== record.oldId) {
      onWait?.();
      const proof = await prove(world, record, units);
      if (proof.kind === 'unknown') return pending(proof.reason);
      if (proof.kind === 'left') return pending('Upkeep was stopped');
      if (proof.kind === 'passed') {
        await finish(record);
        return ended('finished', 'its unit runs the new version');
      }
      const stuck = await goBack(world, record, units);
      const { container: name, oldImageId, newImageId: failedImageId } = record;
      if (proof.isOwn && (stuck === undefined || stuck === unproven))
        await rememberFailures(outside, [{ name, oldImageId, failedImageId }]);
      if (stuck === unproven) return pending(`${proof.reason}; ${unproven}`);
      if (stuck !== undefined) return ended('failed', `${proof.reason}; the old version is not back: ${stuck}`);
      await finish(record);
      return ended('undone', proof.reason);
    }
    const isOthers = container !== undefined && container.imageId !== record.oldImageId;
    if (isOthers && isAlive(container.state.status) && state === 'active') {
      await finish(record);
      return ended('finished', 'somebody has given it another version meanwhile');
    }
    onWait?.();
    const stuck = await goBack(world, record, units);
    if (stuck === unproven) return pending(unproven);
    if (stuck !== undefined) return ended('failed', `the old version is not back: ${stuck}`);
    await finish(record);
    return ended('undone', 'Upkeep ended before its unit had started the new version');
  }

  async function settleAside(record: UnitRecord, signal: AbortSignal | undefined): Promise<RecoveredTransaction> {
    const left = (reason: string) => ({ containers: [record.container], result: 'left', reason }) as const;
    const repair = (world: Outside, onWait?: () => void) =>
      settleOne(world, record, onWait).catch((error: unknown): RecoveredTransaction => ({
        ...left(`repair pending: ${describeWithRemedy(error)}`),
        isPending: true,
      }));
    if (background === undefined) return repair(outside);
    const { repairs, onEnd } = background;
    if (repairs.isFull()) return { ...left('repair pending: too many other repairs wait'), isPending: true };
    const begun = await repairs.begin(
      [record.container],
      ({ ending, onWait }) => repair({ ...outside, ending }, onWait),
      (result) => result !== 'handed over' && onEnd(result),
      signal,
    );
    return begun === undefined || begun === 'handed over' ? { ...left(goesOn), isUnderWay: true } : begun;
  }

  return {
    restarting: (perform) => async (world, chosen, planned, run, signal) => {
      const [member] = planned.members;
      const unit = member?.unit;
      if (member === undefined || unit === undefined) return perform(world, chosen, planned, run, signal);
      const { container, reference, formerReference, digest = '' } = member;
      const { name, imageId } = container;
      announceStart(world, run.runId, {
        name,
        image: reference,
        formerImage: formerReference,
        from: imageId,
        to: digest,
      });
      const phases = createPhaseWatch(clock);
      const enter = (phase: UpdatePhase) => {
        phases.enter(name, phase);
        const isProof = phase === 'checking health';
        const windowMs = isProof ? stopAndHealthPolicyOf(container, settings).healthWindowMs : undefined;
        announcePhase(world, run.runId, name, phase, defined({ windowMs }));
      };
      const outcome = await update(world, { ...member, unit }, { ...run, enter }, signal).catch((error: unknown) => {
        if (!(error instanceof ServiceError) && !signal?.aborted)
          world.log.error('An update failed because of an internal error', { error });
        return unprepared(member, planned, error, signal);
      });
      const told = { ...outcome, ...defined({ phases: phases.read(name) }) };
      announceEnd(world, run.runId, told);
      return [told];
    },
    async settle(signal) {
      const settled: RecoveredTransaction[] = [];
      for (const record of await open()) {
        const isBusy = background?.repairs.whyNotNow([record.container]) !== undefined;
        if (signal?.aborted || isBusy || instance.ownerState(record.owner) === 'alive') continue;
        settled.push(await settleAside(record, signal));
      }
      return settled;
    },
  };
}

/** A tag on the old image, so that no prune removes it meanwhile. */
function markOf({ id }: UnitRecord): string {
  return `${markRepository}:unit-${id}`;
}

const notKept = 'its record cannot be stored in the folder of --state-dir, so a later start could not finish it';

const maxRestarts = 2;

const maxLooks = 10;

const betweenLooksMs = 200;

const goesOn = 'its unit is still waited for; others can be updated meanwhile';

const unproven = 'Upkeep was stopped before its health was proven';

const triesAgain = 'the next run or start of Upkeep tries again';

type Proof =
  | { readonly kind: 'passed'; readonly container: Container }
  /** `isOwn`: the new version is at fault. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isOwn: boolean }
  | { readonly kind: 'unknown'; readonly reason: string }
  /** This process ends. */
  | { readonly kind: 'left' };

type Steps = {
  readonly whileUnproven: WhileAwaitingHealth;
  readonly units: Units;
  readonly enter: (phase: UpdatePhase) => void;
  readonly onWriting: UnitOrder['onWriting'];
  /** Awaited right before the old container stops. */
  readonly onStop: () => Promise<void>;
};

/** `repository:tag`, as the engine takes it. */
function engineName(reference: string): string {
  const parsed = tryParseImageReference(reference);
  return parsed === undefined ? reference : engineReference(parsed);
}

/** Pulls the new image and finds every reason against the update. Throws a `PreparationError`; nothing was changed then. */
async function prepare(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedMember,
  { runId, ahead, enter }: TransactionRun & { readonly enter: (phase: UpdatePhase) => void },
  signal: AbortSignal | undefined,
) {
  const { container, reference, digest } = planned;
  const refuse = (code: 'busy' | 'invalid-input' | 'not-found', why: string, remedy?: string) =>
    new PreparationError(
      container.id,
      new ServiceError(code, `Cannot update ${quoted(container.name)}: ${why}`, defined({ remedy })),
    );
  await requirePermissions(outside, `update ${quoted(container.name)}`, { pulls: true, also: ['untag'] }, signal);
  const now = await outside.engine.inspectContainer(container.id, signal);
  if (now?.name !== container.name || now.state.status !== 'running') throw refuse('busy', 'it has changed meanwhile');
  const probe = stopAndHealthPolicyOf(now, settings).healthProbe;
  const obstacle = await whyNotAskable(outside, probe, now, signal);
  if (obstacle !== undefined)
    throw refuse('invalid-input', `its ${titleOfProbe(probe)} cannot be asked: ${obstacle.why}`, obstacle.remedy);
  const info = await outside.engine.info(signal);
  const oldImage = await contentOf(outside, now, signal);
  const got = ahead?.get(container.id);
  if (got?.kind === 'failed') throw got.error;
  if (got === undefined && digest !== undefined) enter('pulling');
  const platform = foreignPlatform(now, oldImage, info);
  const context = { outside, settings, runId, info, signal };
  const image = (await stillHeld(outside, got)) ?? (await fetchImage(context, planned, oldImage, platform));
  if (image === undefined)
    throw refuse('not-found', 'its new image is no longer in the engine', `pull ${quoted(reference)}`);
  if (platform === undefined && !runsOn(image, info.platform))
    throw refuse(
      'invalid-input',
      `the new image is for ${formatPlatform(image)}, the engine runs ${formatPlatform(info.platform)}`,
    );
  const parsed = tryParseImageReference(planned.formerReference ?? reference);
  const oldDigest = (oldImage && parsed && digestOfRepository(oldImage.digests, parsed)[0]) ?? '';
  return { oldImageId: now.imageId, newImageId: image.id, oldDigest };
}
