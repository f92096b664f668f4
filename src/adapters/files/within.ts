/** Returns `late` after the deadline, because a network file system may never answer. The work itself continues. */
export async function within<Result>(work: Promise<Result>, deadlineMs: number, late: Result): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve(late), deadlineMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
