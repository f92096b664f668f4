import type { EngineReader } from '../../domain/outside/engine-reader.ts';
import { type ErrorCode, ServiceError } from '../../domain/errors.ts';

/**
 * The failure of an inspection that concerns the inspected object alone: a broken one must not keep
 * the others from being updated. Throws it when the engine itself is lost, or the caller aborts.
 */
export async function objectErrorOrThrow(
  engine: Pick<EngineReader, 'ping'>,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<ServiceError> {
  if (signal?.aborted || !(error instanceof ServiceError) || fatal.includes(error.code)) throw error;
  // A container whose process hangs in the kernel makes its own inspection hang, and no other.
  if (error.code === 'timeout') await engine.ping(signal);
  return error;
}

const fatal: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'cancelled'];
