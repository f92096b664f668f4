import type { EngineInfo, EngineReader, Swarm } from '../../domain/outside/engine.ts';
import type { Engine, Clock } from '../../domain/outside/outside.ts';
import type { EngineApplication } from '../application.ts';
import { describeError, ServiceError, isBusy, type ErrorCode } from '../../domain/text/errors.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { shownName, type EngineRun, type ContainerOutcome } from '../../domain/run/session.ts';
import { createSlots, orStopped, stoppedError, type Slot } from '../async/concurrency.ts';
import { nearest } from '../../domain/text/name-pattern.ts';
import { quoted } from '../../domain/text/printable.ts';

/** One engine of a fleet, with the application for this engine alone. */
export type Member = {
  readonly name: string;
  /** The address without user, password and query. */
  readonly address: string;
  readonly application: EngineApplication;
  readonly info: EngineReader['info'];
  /** Absent if services are not watched. */
  readonly node?: EngineNode;
};

/** An engine with the swarm interface of its node. The node may be a manager. */
export type EngineNode = { readonly engine: Engine; readonly swarm: Swarm };

/** A member with the state of its connection. */
export type ReachedMember = Member & { readonly reach: Reachability };

export type Reachability = {
  /** Undefined before the first attempt has ended. */
  readonly isReachable: () => boolean | undefined;
  readonly sinceMs: () => number | undefined;
  /** Why it is unreachable; undefined while it answers. */
  readonly failure: () => unknown;
  readonly about: () => Pick<EngineInfo, 'kind' | 'version'> | undefined;
  /** Notes the result of an attempt; undefined means an answer. */
  readonly note: (failure: unknown) => void;
};

type ReachParts = {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly publish: (event: ServiceEvent) => void;
  /** Called when an engine answers again. */
  readonly onReturn: () => void;
  /** Called with the id that the engine reports. */
  readonly onId: (id: string) => void;
};

/** Tracks whether an engine answers, from the results of its readings and runs. Publishes every change. */
export function createReachability({ name, info }: Pick<Member, 'name' | 'info'>, parts: ReachParts): Reachability {
  const { clock, publish, onReturn, onId } = parts;
  let state: { readonly failure: unknown; readonly sinceMs: number } | undefined;
  let about: ReturnType<Reachability['about']>;

  function learn(): void {
    info().then(
      ({ id, kind, version }) => {
        about = { kind, version };
        onId(id);
      },
      () => undefined,
    );
  }

  return {
    isReachable: () => state && state.failure === undefined,
    sinceMs: () => state?.sinceMs,
    failure: () => state?.failure,
    about: () => about,
    note(failure) {
      if (failure !== undefined && !isUnreachable(failure)) return;
      const was = state;
      if (was !== undefined && (was.failure === undefined) === (failure === undefined)) {
        state = { ...was, failure };
        return;
      }
      const atMs = clock.nowMs();
      state = { failure, sinceMs: atMs };
      if (failure !== undefined)
        return publish({ kind: 'engine_unreachable', engine: name, error: describeUnreachable(failure), atMs });
      learn();
      if (was === undefined) return;
      publish({ kind: 'engine_reachable', engine: name, atMs });
      onReturn();
    },
  };
}

/** An engine that cannot list its containers counts as unreachable, because the cause is on its side. */
const unreachable: ReadonlySet<ErrorCode> = new Set([
  'engine-unreachable',
  'engine-denied',
  'engine-refused',
  'timeout',
]);

/** Whether the error means that the engine cannot be used at all. */
function isUnreachable(error: unknown): boolean {
  return error instanceof ServiceError && unreachable.has(error.code);
}

/** The reason for display, without the user in an address. */
export function describeUnreachable(failure: unknown): string {
  return describeError(failure).replaceAll(/(\w:\/\/)[^\s/@"]*@/g, '$1');
}

/** The end of one engine's part of a run. `result` is present if the part was completed. */
export type Answer<Result> = {
  readonly member: ReachedMember;
  readonly run: EngineRun;
  readonly result?: Result;
  readonly error?: unknown;
};

type EachOrder<Result> = {
  readonly work: (member: ReachedMember, slot: Slot) => Promise<Result>;
  /** True if the request names the engines: they are tried even if they were unreachable a moment ago. */
  readonly isNamed: boolean;
  readonly signal: AbortSignal | undefined;
  /** Called with each answer as it arrives. */
  readonly onEnd?: (answer: Answer<Result>) => void;
};

/** In configured order, independent of the waves. */
export function inOrder<Result>(
  answers: readonly Answer<Result>[],
  meant: readonly ReachedMember[],
): readonly Answer<Result>[] {
  const indexes = new Map(meant.map(({ name }, index) => [name, index]));
  const indexOf = ({ member }: Answer<Result>) => indexes.get(member.name) ?? 0;
  return answers.toSorted((one, other) => indexOf(one) - indexOf(other));
}

export type EachEngine = <Result>(
  members: readonly ReachedMember[],
  order: EachOrder<Result>,
) => Promise<readonly Answer<Result>[]>;

/**
 * Works on each engine on its own, at most `enginesAtOnce` at a time. The failure of an engine is its answer, and an
 * unreachable engine takes no slot. Answers are in the order of the engines. Never throws.
 */
export function createEachEngine(clock: Clock, enginesAtOnce: number): EachEngine {
  const inSlot = createEngineSlots(enginesAtOnce);
  return async (members, order) => Promise.all(members.map((member) => answerOf(member, order)));

  async function answerOf<Result>(member: ReachedMember, order: EachOrder<Result>): Promise<Answer<Result>> {
    const { name, reach } = member;
    const beganMs = clock.monotonicMs();
    const end = (result: EngineRun['result'], rest: Omit<Answer<Result>, 'member' | 'run'>): Answer<Result> => {
      const why = 'error' in rest ? { error: describeUnreachable(rest.error) } : {};
      const run = { name, result, durationMs: clock.monotonicMs() - beganMs, ...why };
      const answer = { member, run, ...rest };
      order.onEnd?.(answer);
      return answer;
    };
    try {
      const result = await perform(member, order);
      reach.note(undefined);
      return end('ran', { result });
    } catch (error) {
      if (isBusy(error)) return end('busy', { error });
      const isAway = isUnreachable(error) && order.signal?.aborted !== true;
      if (isAway) reach.note(error);
      return end(isAway ? 'unreachable' : 'failed', { error });
    }
  }

  async function perform<Result>(member: ReachedMember, { work, isNamed, signal }: EachOrder<Result>): Promise<Result> {
    const { name, reach, application } = member;
    if (signal?.aborted) throw stoppedError(signal, 'work on the engine');
    if (reach.isReachable() === false && !isNamed) throw reach.failure();
    await application.ready(signal);
    return inSlot(name, (slot) => work(member, slot), signal);
  }
}

/** Throws `cancelled` or `timeout` when the signal aborts before the engine has its turn. */
type InEngineSlot = <Result>(
  engine: string,
  work: (slot: Slot) => Promise<Result>,
  signal: AbortSignal | undefined,
) => Promise<Result>;

/** Bounds the number of engines at work. More work on an engine that is already at work begins at once. */
function createEngineSlots(limit: number): InEngineSlot {
  const slots = createSlots(limit, limit);
  const open = new Map<string, { count: number; readonly entered: Promise<Slot>; readonly leave: () => void }>();

  function enter(engine: string) {
    let leave = () => {};
    const released = new Promise<void>((resolve) => (leave = resolve));
    const entered = new Promise<Slot>((resolve) => {
      void slots.run(async (slot) => {
        resolve(slot);
        await released;
      });
    });
    const held = { count: 0, entered, leave };
    open.set(engine, held);
    return held;
  }

  return async (engine, work, signal) => {
    const held = open.get(engine) ?? enter(engine);
    held.count += 1;
    try {
      return await work(await orStopped(held.entered, 'work on the engine', signal));
    } finally {
      held.count -= 1;
      if (held.count === 0) {
        open.delete(engine);
        held.leave();
      }
    }
  };
}

/**
 * The named engines in configured order; all engines if no name is given. Throws `invalid-input` for an unknown name.
 */
export function chooseEngines<Each extends { readonly name: string }>(
  all: readonly Each[],
  names: readonly string[] = [],
): readonly Each[] {
  if (names.length === 0) return all;
  const known = all.map(({ name }) => name);
  const strange = names.filter((name) => !known.includes(name));
  if (strange.length > 0) {
    const [first = ''] = strange;
    const near = nearest(first, known, 1);
    throw new ServiceError(
      'invalid-input',
      `Cannot work on ${strange.map((name) => quoted(name)).join(', ')}: ${why}`,
      {
        remedy:
          near === undefined
            ? `the engines are ${known.slice(0, maxNames).join(', ')}${known.length > maxNames ? ' and others' : ''}`
            : `did you mean ${quoted(near)}?`,
      },
    );
  }
  return all.filter(({ name }) => names.includes(name));
}

const why = 'no engine has this name';
const maxNames = 10;

/** Resolves once the engine is listed or known to be unreachable. Its cache continues to follow the engine. */
export async function followMember(
  { application, reach }: Pick<ReachedMember, 'application' | 'reach'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const done = new AbortController();
  const either = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
  const listed = application.follow(either).catch(() => undefined);
  const answered = application.ready(either).then(
    () => listed,
    (error: unknown) => reach.note(error),
  );
  await Promise.race([listed, answered]);
  done.abort();
}

/**
 * An event of one engine as the fleet publishes it. Undefined for the begin and end of a run, which the fleet publishes
 * itself.
 */
export function withEngine(event: ServiceEvent, engine: string): ServiceEvent | undefined {
  switch (event.kind) {
    case 'scan_started':
    case 'scan_skipped':
    case 'scan_completed':
    case 'scan_failed':
      return undefined;
    case 'update_completed':
    case 'update_failed':
    case 'update_deferred':
      return { ...event, engine, outcome: { ...event.outcome, engine } };
    case 'earlier_updates_settled':
      return { ...event, engine, transactions: event.transactions.map((one) => ({ ...one, engine })) };
    default:
      return { ...event, engine };
  }
}

/** The event with container names of the form `nas/web`, for readers that see names only, such as messages. */
export function namedByEngine(event: ServiceEvent): ServiceEvent {
  if (event.kind === 'scan_completed')
    return event.session === undefined
      ? event
      : { ...event, session: { ...event.session, containers: event.session.containers.map(named) } };
  const { engine } = event;
  if (engine === undefined) return event;
  const nameOf = (name: string) => shownName({ engine, name });
  switch (event.kind) {
    case 'containers_selected':
      return { ...event, names: event.names.map(nameOf), recipients: recipientsNamed(event.recipients, nameOf) };
    case 'container_checked':
    case 'pull_progress':
    case 'update_started':
    case 'phase_entered':
    case 'compose_file':
      return { ...event, container: nameOf(event.container) };
    case 'update_completed':
    case 'update_failed':
    case 'update_deferred':
      return { ...event, outcome: named(event.outcome) };
    case 'image_cleanup':
      return {
        ...event,
        images: event.images.map((image) => ({ ...image, containerName: nameOf(image.containerName) })),
      };
    case 'earlier_updates_settled':
      return {
        ...event,
        transactions: event.transactions.map((one) => ({
          ...one,
          containers: one.containers.map(nameOf),
          recipients: recipientsNamed(one.recipients, nameOf),
        })),
      };
    default:
      return event;
  }
}

type Recipients = Readonly<Record<string, readonly string[]>>;

function recipientsNamed(recipients: Recipients = {}, nameOf: (name: string) => string): Recipients {
  return Object.fromEntries(Object.entries(recipients).map(([name, targets]) => [nameOf(name), targets] as const));
}

function named(outcome: ContainerOutcome): ContainerOutcome {
  return { ...outcome, name: shownName(outcome) };
}
