import { isBusy } from '../../../domain/text/errors.ts';
import type { EngineRun } from '../../../domain/run/session.ts';
import { createSlots, orStopped, stoppedError, type Slot } from '../../async/concurrency.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { ReachedMember } from '../member/member.ts';
import { isUnreachable, describeUnreachable } from '../member/reachability.ts';

/** The end of one engine's part of a run. `result` is present if the part was completed. */
export type Answer<Result> = {
  readonly member: ReachedMember;
  readonly run: EngineRun;
  readonly result?: Result;
  readonly error?: unknown;
};

export type EachOrder<Result> = {
  readonly work: (member: ReachedMember, slot: Slot) => Promise<Result>;
  /** True if the request names the engines: they are tried even if they were unreachable a moment ago. */
  readonly isNamed: boolean;
  readonly signal: AbortSignal | undefined;
  /** Called with each answer as it arrives. */
  readonly onEnd?: (answer: Answer<Result>) => void;
};

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
