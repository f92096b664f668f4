import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import { isAlive } from '../../../domain/container/container.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { Client } from '../transport/client.ts';
import { inspectContainer } from './containers.ts';

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
    for (let asked = 0; clock.monotonicMs() < untilMs; asked += 1) {
      const container = asked % stopsPerLook === 0 ? await inspectContainer(client, id) : atWork;
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

/** A process that ends at once is there for some 50 ms of every half second, less where the machine is busy. */
const pauseMs = 5;

/** A look takes as long as a stop, and would be the moment at which the process was there. */
const stopsPerLook = 10;

const atWork = { state: { status: 'restarting' } } as const;
