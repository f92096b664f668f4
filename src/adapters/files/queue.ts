/** Runs functions in order, one at a time. A failure does not stop the next function. */
export function createQueue(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/**
 * Returns `late` after the deadline, because a network file system may never answer. The work itself continues.
 * `Infinity`: the caller has its own deadline.
 */
export async function withDeadline<Result, Late = Result>(
  work: Promise<Result>,
  deadlineMs: number,
  late: Late,
): Promise<Result | Late> {
  if (deadlineMs === Infinity) return await work;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Late>((resolve) => {
    timer = setTimeout(() => resolve(late), deadlineMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
