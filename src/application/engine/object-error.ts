import type { EngineReader } from '../../domain/outside/engine.ts';
import { type ErrorCode, ServiceError } from '../../domain/text/errors.ts';

/** The answer about one object, or undefined if the engine cannot give it. `note` is called with the reason then. */
export async function unlessBroken<Answer>(
  { engine }: { readonly engine: Pick<EngineReader, 'ping'> },
  ask: () => Promise<Answer>,
  note: (reason: string) => void,
  signal: AbortSignal | undefined,
): Promise<Answer | undefined> {
  try {
    return await ask();
  } catch (error) {
    const { message } = await objectErrorOrThrow(engine, error, signal);
    note(message);
    return undefined;
  }
}

/**
 * Returns the error of an inspection if it concerns the inspected object alone, so that other containers can still be
 * updated. Throws it if the engine itself fails or the caller aborts.
 */
export async function objectErrorOrThrow(
  engine: Pick<EngineReader, 'ping'>,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<ServiceError> {
  if (signal?.aborted || !(error instanceof ServiceError) || fatal.includes(error.code)) throw error;
  // A process that hangs in the kernel blocks the inspection of its own container only.
  if (error.code === 'timeout') await engine.ping(signal);
  return error;
}

const fatal: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'cancelled'];
