/** Lets work wait until all others of a run have ended. Those that wait too do not keep each other. */
export type LastOnes = {
  readonly end: () => void;
  readonly wait: () => Promise<void>;
  /** Resolves when all have ended, or wait. */
  readonly ended: Promise<void>;
};

export function createLastOnes(count: number): LastOnes {
  let working = count;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const end = () => {
    working -= 1;
    if (working <= 0) release();
  };
  return {
    end,
    ended: released,
    async wait() {
      end();
      await released;
    },
  };
}
