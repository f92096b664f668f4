import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import { describeError } from '../../../domain/errors.ts';
import { errorPatterns } from '../translate/capabilities.ts';
import { change } from './changes.ts';
import type { Client } from '../transport/client.ts';
import { containerPath, inspectContainer } from './containers.ts';
import { pathSegment } from '../transport/json-fields.ts';

/**
 * Removes a container with `v=0`, so that its volumes stay.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerDelete
 */
export async function removeContainer(client: Client, id: string): Promise<CallOutcome> {
  const outcome = await change(client, {
    method: 'DELETE',
    path: containerPath(id),
    query: { force: '1', v: '0' },
    absentIsNoop: true,
  });
  const underWay = outcome.kind === 'refused' && errorPatterns.removalInProgress.test(outcome.message);
  return underWay ? await waitUntilGone(client, id, outcome) : outcome;
}

/**
 * Removes a link; its target stays.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerDelete
 */
export function removeLink(client: Client, name: string, alias: string): Promise<CallOutcome> {
  return change(client, {
    method: 'DELETE',
    path: `${containerPath(name)}/${pathSegment(alias)}`,
    query: { link: '1', force: '0', v: '0' },
    absentIsNoop: true,
  });
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Volume/operation/VolumeDelete */
export function removeVolume(client: Client, name: string): Promise<CallOutcome> {
  return change(client, { method: 'DELETE', path: `/volumes/${encodeURIComponent(name)}`, absentIsNoop: true });
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
