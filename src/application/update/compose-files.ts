import {
  changeToTakeBack,
  type ComposeEdit,
  type ComposeRecord,
  isOpen,
  latestRecords,
  settlingOf,
} from '../../domain/compose/compose-record.ts';
import { isSame } from '../../domain/compose/compose-edit.ts';
import { composeNote, type ComposeState } from '../../domain/compose/compose-state.ts';
import { projectOf } from '../../domain/compose/compose-project.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import { imageLabelsIn, indexImages, readComposeIdentity } from '../../domain/container/lookup.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import type { ComposeOrder, Outside, SharedRecords } from '../../domain/outside/outside.ts';
import { composeFileRemark } from '../../domain/plan/replacement.ts';
import type { PlannedMember } from '../../domain/plan/update-plan.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { ContainerOutcome, Outcomes } from '../../domain/run/session.ts';
import { labelsInEffect, labelValuesOf } from '../../domain/settings/effective-settings.ts';
import { describeError } from '../../domain/text/errors.ts';
import { addTo, putNewest } from '../../domain/text/plain-data.ts';
import { parseTransactionName, plainName } from '../../domain/transaction/transaction-names.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import type { RunTransaction } from '../transaction/run-transaction.ts';

/** Keeps the compose files of containers in step with their tags. Its methods never throw. */
export type ComposeKeeper = {
  /**
   * The same transactions, with a record before each that moves a tag, and the change of the file after its commit. The
   * outcomes tell of both, and their events wait for it.
   */
  readonly keeping: (perform: RunTransaction, kind?: 'rollback') => RunTransaction;
  /** Writes at the end of a run what waited for other updates of it. */
  readonly finish: (outcomes: Outcomes) => Promise<Outcomes>;
  /** Finishes or takes back what an earlier process has left. */
  readonly settle: () => Promise<void>;
};

/** Without `--compose-files write` the outcomes tell which tag to write. `records` outlive the process. */
export function createComposeKeeper(
  outside: Outside,
  records: SharedRecords<ComposeRecord> | undefined,
): ComposeKeeper {
  const { clock, log, newId, instance } = outside;
  const known = new Map<string, ComposeRecord>();
  const write = outside.composeFiles?.write;

  async function note(record: ComposeRecord): Promise<ComposeRecord> {
    putNewest(known, record.id, record, maxKnown);
    await records?.append([record]);
    return record;
  }

  async function all(): Promise<readonly ComposeRecord[]> {
    return latestRecords([...((await records?.read()) ?? []), ...known.values()]);
  }

  /** Undefined for a container that keeps its tag, or whose file is not to be written. */
  async function begin(member: PlannedMember, kind: 'rollback' | undefined): Promise<ComposeRecord | undefined> {
    const { container, reference, formerReference } = member;
    const labels = container.settings.Config.Labels ?? {};
    const identity = readComposeIdentity(labels);
    if (write === undefined || formerReference === undefined || identity === undefined || identity.oneOff)
      return undefined;
    if (labelValuesOf(container).composeFiles === false) return undefined;
    const move = { container: container.name, from: container.settings.Config.Image, to: reference };
    const earlier = kind === 'rollback' ? changeToTakeBack(await all(), move) : undefined;
    if (kind === 'rollback' && earlier === undefined) return undefined;
    const project = projectOf(identity);
    return note({
      id: newId(),
      step: 'begun',
      atMs: clock.nowMs(),
      owner: instance.owner,
      ...move,
      project,
      service: identity.service,
      ...(earlier && { takesBack: earlier.id }),
    });
  }

  async function settleOne(record: ComposeRecord): Promise<ComposeState> {
    const { id, container: name, project, service } = record;
    const listed = await outside.engine.listContainers({});
    const isUnderWay = listed.some((one) => parseTransactionName(one.name)?.name === name);
    if (isUnderWay) return { state: 'pending', reason: 'busy', detail: 'its update is not over' };
    const found = listed.find((one) => one.name === name);
    const reference = found && (await referenceOf(found.id));
    const asked = settlingOf(record, reference);
    if (asked === 'nothing' || found === undefined) {
      await note({ ...record, step: 'dropped' });
      return { state: 'refused', reason: 'gone' };
    }
    const [from, to] = asked === 'write' ? [record.from, record.to] : [record.to, record.from];
    const { references, others } = await surveyOf(listed, record);
    const own = references.get(service) ?? [];
    const isWhole = asked === 'restore' || own.every((one) => isSame(one, to));
    const labels = labelsInEffect(found.labels, imageLabelsIn(indexImages(await outside.engine.listImages()))(found));
    const next = tryParseImageReference(to)?.tag;
    const moves = new Map(
      [...references].flatMap(([each, [first, ...more]]) =>
        first !== undefined && more.every((one) => isSame(one, first)) ? [[each, first] as const] : [],
      ),
    );
    let writing: ComposeEdit | undefined;
    const order: ComposeOrder = {
      id,
      from,
      to,
      others,
      question: {
        id,
        project,
        service,
        reference: from,
        ...(next !== undefined && { next }),
        claim: { container: name, labels },
        moves,
      },
      ...(record.step === 'writing' && record.edit && { interrupted: record.edit }),
      onWriting: async (edit) => {
        writing = edit;
        await note({ ...record, step: 'writing', edit });
      },
    };
    const state: ComposeState = isWhole
      ? ((await write?.(order)) ?? { state: 'refused', reason: 'no-files' })
      : { state: 'refused', reason: 'shared', services: [service] };
    const isBack = asked === 'restore' || record.takesBack !== undefined;
    const last = { ...record, ...(writing && { edit: writing }) };
    if (state.state === 'written') await note({ ...last, step: asked === 'write' ? 'written' : 'dropped' });
    else if (state.state !== 'pending') await note({ ...last, step: 'dropped' });
    return state.state === 'written' && isBack ? { ...state, state: 'put-back' } : state;
  }

  async function referenceOf(id: string): Promise<string | undefined> {
    return (await outside.engine.inspectContainer(id))?.settings.Config.Image;
  }

  /** The references of all containers of the project, by service, and the other projects. */
  async function surveyOf(listed: readonly ContainerSummary[], { project }: ComposeRecord) {
    const own: { readonly id: string; readonly service: string }[] = [];
    const references = new Map<string, string[]>();
    const others = new Map<string, ReturnType<typeof projectOf>>();
    for (const { id, name, labels } of listed) {
      const identity = readComposeIdentity(labels);
      if (identity === undefined || plainName(name) !== name) continue;
      if (identity.project !== project.name) {
        const other = projectOf(identity);
        others.set(JSON.stringify(other), other);
      } else if (!identity.oneOff) own.push({ id, service: identity.service });
    }
    const read = await mapConcurrently(own, inspectionsAtOnce, async ({ id }) => (await referenceOf(id)) ?? '');
    for (const [index, { service }] of own.entries()) addTo(references, service, read[index] ?? '');
    return { references, others: [...others.values()] };
  }

  async function settled(record: ComposeRecord): Promise<ComposeState> {
    try {
      const state = await settleOne(record);
      outside.publish({ kind: 'compose_file', container: record.container, state, atMs: clock.nowMs() });
      return state;
    } catch (error) {
      log.warn('A compose file could not be kept in step: the next run or start tries again', {
        container: record.container,
        error: describeError(error),
      });
      return { state: 'pending', detail: describeError(error) };
    }
  }

  const waiting = new Map<string, ComposeRecord>();

  return {
    keeping: (perform, kind) => async (world, settings, planned, run, signal) => {
      const begun = new Map<string, ComposeRecord>();
      for (const member of planned.members) {
        const record = await begin(member, kind);
        if (record !== undefined) begun.set(member.container.id, record);
      }
      const ends: Extract<ServiceEvent, { readonly outcome: ContainerOutcome }>[] = [];
      const publish: Outside['publish'] = (event) =>
        'outcome' in event ? void ends.push(event) : world.publish(event);
      const reached = await perform({ ...world, publish }, settings, planned, run, signal);
      const told: ContainerOutcome[] = [];
      for (const [index, outcome] of reached.entries()) {
        const member = planned.members[index];
        const record = member && begun.get(member.container.id);
        told.push(member === undefined ? outcome : await tellOf(outcome, member, record));
      }
      for (const end of ends) {
        const outcome = told.find(({ name }) => name === end.outcome.name) ?? end.outcome;
        world.publish({ ...end, outcome });
      }
      return told;
    },
    async finish(outcomes) {
      const again = new Map(outcomes);
      for (const [id, record] of waiting) {
        waiting.delete(id);
        const outcome = outcomes.get(id);
        if (outcome !== undefined) again.set(id, withState(outcome, await settled({ ...record, step: 'begun' })));
      }
      return again;
    },
    async settle() {
      if (write === undefined) return;
      for (const record of (await all()).filter(isOpen)) {
        const { owner, container } = record;
        if (instance.ownerState(owner) === 'alive') continue;
        const state = await settled(record);
        if (state.reason !== 'gone')
          log.info('A compose file was left by an earlier run', {
            container,
            result: composeNote(state) ?? state.state,
          });
      }
    },
  };

  async function tellOf(
    outcome: ContainerOutcome,
    member: PlannedMember,
    record: ComposeRecord | undefined,
  ): Promise<ContainerOutcome> {
    const isDone = outcome.outcome === 'updated' || outcome.outcome === 'restarted';
    if (record === undefined) {
      const remark = isDone ? composeFileRemark(member) : '';
      return remark === '' ? outcome : { ...outcome, reason: joined(outcome.reason, remark) };
    }
    if (outcome.outcome === 'deferred') return outcome;
    if (!isDone) {
      await note({ ...record, step: 'dropped' });
      return outcome;
    }
    const state = await settled(record);
    if (state.reason === 'shared' && state.services !== undefined) waiting.set(member.container.id, record);
    return withState(outcome, state);
  }
}

/** Without a state folder, changes of this process can be taken back while they are among the last. */
const maxKnown = 500;

/** The outcome with another state than before. Its reason tells of it. */
function withState({ compose: former, ...outcome }: ContainerOutcome, compose: ComposeState): ContainerOutcome {
  const told = former === undefined ? '' : (composeNote(former) ?? '');
  const parts = outcome.reason.split('; ').filter((part) => part !== '' && !told.split('; ').includes(part));
  return { ...outcome, reason: joined(...parts, composeNote(compose) ?? ''), compose };
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('; ');
}
