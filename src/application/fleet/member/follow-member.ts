import type { ReachedMember } from './member.ts';

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
