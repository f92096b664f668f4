import type { CallOutcome, StopOptions } from '../../../domain/outside/engine-writer.ts';
import { isAlive } from '../../../domain/container/container.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { maxAnswerBytes, readJson } from '../transport/answer.ts';
import { capabilitiesOf } from '../translate/capabilities.ts';
import { change } from './changes.ts';
import type { Client } from '../transport/client.ts';
import { containerPath, inspectContainer } from './containers.ts';
import { EngineFailure } from '../transport/failure.ts';
import { refusal } from '../reading/reads.ts';
import { isJsonObject } from '../../../domain/text/json-value.ts';

/**
 * Stops a container. The engine continues a stop after its caller disconnects, so the deadline is later than the kill.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerStop
 */
export async function stopContainer(client: Client, id: string, options: StopOptions): Promise<CallOutcome> {
  const stop = (): Promise<CallOutcome> => stopOrRestart(client, id, 'stop', options);
  const outcome = await stop();
  if (outcome.kind !== 'noop') return outcome;
  const version = await client.version().catch(() => undefined);
  if (version === undefined || capabilitiesOf(version).stopsBetweenTries) return outcome;
  return await stopBetweenRestarts(client, id, stop);
}

/**
 * Stops a container between two attempts of its restart policy, when Podman reports it as stopped. Repeats the stop
 * until it finds a process, or until the container is stopped and its policy does not start it again. The result is
 * `refused` after the deadline.
 */
async function stopBetweenRestarts(client: Client, id: string, stop: () => Promise<CallOutcome>): Promise<CallOutcome> {
  const { clock } = client;
  const untilMs = clock.monotonicMs() + client.deadlines.stopMarginMs;
  try {
    for (let stops = 0; clock.monotonicMs() < untilMs; stops += 1) {
      if (stops % stopsPerInspection === 0 && (await isAtRest(client, id))) return { kind: 'noop' };
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

/** An inspection takes as long as a stop. The short-lived process could run and exit meanwhile. */
const stopsPerInspection = 10;

async function isAtRest(client: Client, id: string): Promise<boolean> {
  const container = await inspectContainer(client, id);
  return container === undefined || !isAlive(container.state.status);
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerRestart */
export function restartContainer(client: Client, id: string, options: StopOptions): Promise<CallOutcome> {
  return stopOrRestart(client, id, 'restart', options);
}

async function stopOrRestart(
  client: Client,
  id: string,
  how: 'stop' | 'restart',
  options: StopOptions,
): Promise<CallOutcome> {
  const seconds = options.timeoutSeconds === undefined ? undefined : Math.max(0, Math.ceil(options.timeoutSeconds));
  const signal = await stopSignal(client, options);
  return await change(client, {
    path: `${containerPath(id)}/${how}`,
    query: { t: seconds?.toString(), signal },
    deadlineMs: (seconds ?? (await ownStopSeconds(client, id))) * 1000 + client.deadlines.stopMarginMs,
  });
}

/** Only a signal depends on the API version. If the version is unknown, the stop itself fails with the reason. */
async function stopSignal(client: Client, { signal }: StopOptions): Promise<string | undefined> {
  if (signal === undefined) return undefined;
  const version = await client.version().catch(() => undefined);
  return version && capabilitiesOf(version).stopSignal ? signal : undefined;
}

/** https://docs.docker.com/reference/cli/docker/container/stop/ */
const engineStopSeconds = 10;
/** Used for a container with `StopTimeout: -1`, which means no limit. */
const longestStopSeconds = 3_600;

async function ownStopSeconds(client: Client, id: string): Promise<number> {
  const container = await inspectContainer(client, id).catch(() => undefined);
  const own = container?.settings.Config.StopTimeout ?? engineStopSeconds;
  return own < 0 ? longestStopSeconds : own;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerWait */
export async function waitUntilStopped(
  client: Client,
  id: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const reply = await client.send({
      method: 'POST',
      path: `${containerPath(id)}/wait`,
      query: { condition: 'not-running' },
      socket: 'own',
      patience: { for: 'whole', ms: timeoutMs },
      signal,
    });
    if (reply.kind === 'ok') return isJsonObject(await readJson(reply.body, maxAnswerBytes));
    if (reply.status === 404 && reply.fromEngine) return true;
    throw refusal(`wait for the container ${quoted(id)}`, reply);
  } catch (error) {
    if (error instanceof EngineFailure && error.code === 'timeout') return false;
    throw error;
  }
}
