import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import { isAlive } from '../../../domain/container/container.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { Client } from '../transport/client.ts';
import { inspectContainer } from './containers.ts';

/**
 * Stops a container between two attempts of its restart policy, when Podman reports it as stopped. Repeats the stop
 * until it has met a process, or until the container is at rest and its policy does not start it again. Otherwise the
 * result is `refused`.
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
  return { kind: 'refused', status: 409, message: 'its restart policy starts it again before it can be stopped' };
}

/** A process that exits at once exists for about 50 ms of every half second, less on a busy machine. */
const pauseMs = 5;

/** An inspection takes as long as a stop, and might fall into the short life of the process. */
const stopsPerLook = 10;

const atWork = { state: { status: 'restarting' } } as const;
