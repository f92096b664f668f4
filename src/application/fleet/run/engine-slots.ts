import { createSlots, type Slot } from '../../async/concurrency.ts';
import { orStopped } from '../../async/stopped.ts';

/** Bounds the number of engines at work. More work on an engine that is already at work begins at once. */
export type EngineSlots = {
  /** Throws `cancelled` or `timeout` when the signal aborts before the engine has its turn. */
  readonly run: <Result>(
    engine: string,
    work: (slot: Slot) => Promise<Result>,
    signal: AbortSignal | undefined,
  ) => Promise<Result>;
};

export function createEngineSlots(limit: number): EngineSlots {
  const slots = createSlots(limit, limit);
  const open = new Map<string, { count: number; readonly entered: Promise<Slot>; readonly leave: () => void }>();

  function enter(engine: string) {
    let leave = () => {};
    const left = new Promise<void>((resolve) => (leave = resolve));
    const entered = new Promise<Slot>((resolve) => {
      void slots.run(async (slot) => {
        resolve(slot);
        await left;
      });
    });
    const held = { count: 0, entered, leave };
    open.set(engine, held);
    return held;
  }

  return {
    async run(engine, work, signal) {
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
    },
  };
}
