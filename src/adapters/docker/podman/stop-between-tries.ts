import { isAlive } from '../../../domain/container.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { CallOutcome } from '../../../domain/outside.ts';
import type { Client } from '../client.ts';
import { inspectContainer } from '../containers.ts';

/**
 * For a container that Podman has called stopped already: asks again until a stop has met its process,
 * or until it is at rest, so that its restart policy does not bring it back. `refused` when neither comes about.
 */
export async function stopBetweenTries(
  client: Client,
  id: string,
  stop: () => Promise<CallOutcome>,
): Promise<CallOutcome> {
  const { clock } = client;
  const untilMs = clock.monotonicMs() + client.deadlines.stopMarginMs;
  try {
    while (clock.monotonicMs() < untilMs) {
      const container = await inspectContainer(client, id);
      if (container === undefined || !isAlive(container.state.status)) return { kind: 'noop' };
      const outcome = await stop();
      if (outcome.kind !== 'noop') return outcome;
      await clock.sleep(pauseMs);
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'unknown', message: describeError(error) };
  }
  return { kind: 'refused', status: 409, message: 'its restart policy starts it again whenever it is to be stopped' };
}

/** A process that ends at once is there for some 50 ms of every half second. */
const pauseMs = 20;
