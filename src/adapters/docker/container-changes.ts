import type { RestartPolicy } from '../../domain/container.ts';
import type { ContainerRecipe } from '../../domain/container-recipe.ts';
import { describeError } from '../../domain/errors.ts';
import type { CallOutcome, CreateOutcome, StopOptions } from '../../domain/outside.ts';
import { maxAnswerBytes, readJson } from './answer.ts';
import { formatPlatform } from '../../domain/platform.ts';
import { capabilitiesOf, mishaps } from './capabilities.ts';
import { change, changeAndRead } from './changes.ts';
import type { Client } from './client.ts';
import { containerPath, inspectContainer } from './containers.ts';
import { EngineFailure } from './failure.ts';
import { refusal } from './reads.ts';
import { fields, isFields, text } from './wire.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerCreate */
export async function createContainer(client: Client, name: string, recipe: ContainerRecipe): Promise<CreateOutcome> {
  const outcome = await changeAndRead(client, {
    path: '/containers/create',
    query: { name, platform: recipe.platform && formatPlatform(recipe.platform) },
    body: recipe.body,
  });
  if (outcome.kind === 'noop') return { kind: 'unknown', message: 'the engine answered 304 to a create' };
  if (outcome.kind === 'refused') return nameTakenAs409(outcome);
  if (outcome.kind === 'unknown') return outcome;
  const id = text(fields(outcome.answer)['Id']);
  return id === ''
    ? { kind: 'unknown', message: 'the engine created a container and did not tell its id' }
    : { kind: 'done', id };
}

export async function renameContainer(client: Client, id: string, name: string): Promise<CallOutcome> {
  const outcome = await change(client, { path: `${containerPath(id)}/rename`, query: { name } });
  return outcome.kind === 'refused' ? nameTakenAs409(outcome) : outcome;
}

export function updateRestartPolicy(client: Client, id: string, policy: RestartPolicy): Promise<CallOutcome> {
  return change(client, { path: `${containerPath(id)}/update`, body: { RestartPolicy: policy } });
}

export function startContainer(client: Client, id: string): Promise<CallOutcome> {
  return change(client, { path: `${containerPath(id)}/start` });
}

export async function stopContainer(client: Client, id: string, options: StopOptions): Promise<CallOutcome> {
  const seconds = options.timeoutSeconds === undefined ? undefined : Math.max(0, Math.ceil(options.timeoutSeconds));
  const signal = await stopSignal(client, options);
  return await change(client, {
    path: `${containerPath(id)}/stop`,
    query: { t: seconds?.toString(), signal },
    deadlineMs: (seconds ?? (await ownStopSeconds(client, id))) * 1000 + client.deadlines.stopMarginMs,
  });
}

/** The engine's way is asked only for a signal, and where it is out of reach the stop itself will say so. */
async function stopSignal(client: Client, { signal }: StopOptions): Promise<string | undefined> {
  if (signal === undefined) return undefined;
  const version = await client.version().catch(() => undefined);
  return version && capabilitiesOf(version).stopSignal ? signal : undefined;
}

/** https://docs.docker.com/reference/cli/docker/container/stop/ */
const engineStopSeconds = 10;
/** For a container that is to be waited for without end (`StopTimeout: -1`). */
const longestStopSeconds = 3_600;

async function ownStopSeconds(client: Client, id: string): Promise<number> {
  const container = await inspectContainer(client, id).catch(() => undefined);
  const own = container?.settings.Config.StopTimeout ?? engineStopSeconds;
  return own < 0 ? longestStopSeconds : own;
}

/**
 * With `v=0`, always: the volumes stay.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerDelete
 */
export async function removeContainer(client: Client, id: string): Promise<CallOutcome> {
  const outcome = await change(client, {
    method: 'DELETE',
    path: containerPath(id),
    query: { force: '1', v: '0' },
    absentIsNoop: true,
  });
  const underWay = outcome.kind === 'refused' && mishaps.removalInProgress.test(outcome.message);
  return underWay ? await waitUntilGone(client, id, outcome) : outcome;
}

const removalPollMs = 100;

async function waitUntilGone(client: Client, id: string, refused: CallOutcome): Promise<CallOutcome> {
  const { clock, deadlines } = client;
  const untilMs = clock.monotonicMs() + deadlines.removalMs;
  try {
    while ((await inspectContainer(client, id)) !== undefined) {
      if (clock.monotonicMs() >= untilMs) return refused;
      await clock.sleep(removalPollMs);
    }
    return { kind: 'done' };
  } catch (error) {
    return { kind: 'unknown', message: describeError(error) };
  }
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
    if (reply.kind === 'ok') return isFields(await readJson(reply.body, maxAnswerBytes));
    if (reply.status === 404 && reply.fromEngine) return true;
    throw refusal(`wait for the container "${id}"`, reply);
  } catch (error) {
    if (error instanceof EngineFailure && error.code === 'timeout') return false;
    throw error;
  }
}

/** Podman answers 500, and says the same in its own words. */
function nameTakenAs409<Refused extends CallOutcome & { readonly kind: 'refused' }>(refused: Refused): Refused {
  return mishaps.nameTaken.test(refused.message) ? { ...refused, status: 409 } : refused;
}
