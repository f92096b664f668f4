import type { EngineInfo, EngineReader } from '../domain/outside/engine-reader.ts';
import type { Clock } from '../domain/outside/outside.ts';

/** What engines say, of those that answer within 5 s: one that is away must not keep the registries from the others. */
export async function answersOf(
  engines: readonly Pick<EngineReader, 'info'>[],
  read: (info: EngineInfo) => readonly string[],
  clock: Clock,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const answered = new AbortController();
  const late = clock.sleep(patienceMs, answered.signal).catch(() => undefined);
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const found = new Set<string>();
  const asked = engines.map(async (engine) => {
    try {
      for (const one of read(await engine.info(either))) found.add(one);
    } catch {
      // One that does not answer has nothing to say here; its own run tells why.
    }
  });
  await Promise.race([Promise.all(asked), late]);
  answered.abort();
  stop.abort();
  return [...found];
}

const patienceMs = 5000;
