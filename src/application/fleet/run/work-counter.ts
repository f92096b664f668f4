/** Lets work wait until all other work of a run has ended. Waiting work does not block other waiting work. */
export type WorkCounter = {
  /** Adds more work. Only valid while some is at work. */
  readonly add: (count: number) => void;
  readonly end: () => void;
  readonly wait: () => Promise<void>;
  /** Resolves when all work has ended or waits. */
  readonly ended: Promise<void>;
};

export function createWorkCounter(count: number): WorkCounter {
  let working = count;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const end = () => {
    working -= 1;
    if (working <= 0) release();
  };
  return {
    add: (more) => void (working += more),
    end,
    ended: released,
    async wait() {
      end();
      await released;
    },
  };
}
