import type { EngineInfo, EngineReader } from '../../domain/outside/engine-reader.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/**
 * The same engine, but `info` is requested once in ten seconds. A run needs it several times, and a Docker engine
 * counts all containers and images for each answer. Our monotonic clock advances the engine's clock in between.
 */
export function shareInfo<Each extends Pick<EngineReader, 'info'>>(
  engine: Each,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
): Each {
  let last: { readonly info: EngineInfo; readonly askedAtMs: number } | undefined;

  async function info(signal?: AbortSignal): Promise<EngineInfo> {
    signal?.throwIfAborted();
    const nowMs = monotonicMs();
    if (last !== undefined && nowMs - last.askedAtMs < sharedForMs)
      return { ...last.info, nowMs: last.info.nowMs + (nowMs - last.askedAtMs) };
    const answer = await engine.info(signal);
    last = { info: answer, askedAtMs: nowMs };
    return answer;
  }

  return { ...engine, info };
}

/** Longer than the steps of one update, shorter than a restart of the engine with other settings. */
const sharedForMs = 10_000;
