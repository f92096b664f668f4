import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import type { FailedServiceVersion } from '../../../domain/outside/swarm.ts';
import { fnv64 } from '../../../domain/text/fnv.ts';
import { printable } from '../../../domain/text/printable.ts';
import { change } from '../calls/changes.ts';
import type { Client } from '../transport/client.ts';
import { fields, pathSegment, text, textMap } from '../transport/json-fields.ts';
import { arrayOf } from '../../../domain/text/json-value.ts';
import { readRawList } from './read-raw.ts';

/**
 * Stores a failure as a config object, which restarts no task and outlives the leader. A label of the service would
 * erase its `UpdateStatus` and `PreviousSpec`.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Config/operation/ConfigCreate
 */
export async function recordFailure(
  client: Client,
  { serviceId, serviceName, digest, atMs, reason }: Omit<FailedServiceVersion, 'configId'>,
): Promise<CallOutcome> {
  const outcome = await change(client, {
    path: '/configs/create',
    body: {
      Name: configName(serviceId, digest),
      Labels: {
        [labels.service]: serviceId,
        [labels.name]: serviceName,
        [labels.digest]: digest,
        [labels.at]: new Date(atMs).toISOString().replace(/\.\d+/, ''),
        [labels.reason]: printable(reason, maxReasonChars),
      },
      // The engine refuses an empty config.
      Data: Buffer.from('A version that failed, noted by Upkeep\n').toString('base64'),
    },
  });
  // An existing config of this name stores the same failure.
  return outcome.kind === 'refused' && outcome.status === 409 ? { kind: 'noop' } : outcome;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Config/operation/ConfigList */
export async function listFailures(client: Client, signal?: AbortSignal): Promise<readonly FailedServiceVersion[]> {
  const answer = await readRawList(client, {
    doing: 'list the configs of the swarm',
    path: '/configs',
    query: { filters: JSON.stringify({ label: [labels.digest] }) },
    signal,
  });
  return arrayOf(answer.value).flatMap((value) => readFailure(value) ?? []);
}

export function forgetFailure(client: Client, { configId }: FailedServiceVersion): Promise<CallOutcome> {
  return change(client, { method: 'DELETE', path: `/configs/${pathSegment(configId)}`, absentIsNoop: true });
}

/** One for each failure. */
function configName(serviceId: string, digest: string): string {
  return `upkeep-failed-${fnv64(`${serviceId} ${digest}`)}`;
}

const labels = {
  service: 'upkeep.failed.service',
  name: 'upkeep.failed.name',
  digest: 'upkeep.failed.digest',
  at: 'upkeep.failed.at',
  reason: 'upkeep.failed.reason',
} as const;

const maxReasonChars = 500;

/** Undefined for another config with such labels, e.g. a person's copy: a failure is deleted once it is obsolete. */
function readFailure(value: unknown): FailedServiceVersion | undefined {
  const { ID, Spec } = fields(value);
  const { Name, Labels } = fields(Spec);
  const stored = textMap(Labels);
  const [serviceId, digest] = [stored[labels.service] ?? '', stored[labels.digest] ?? ''];
  const atMs = Date.parse(stored[labels.at] ?? '');
  if (text(ID) === '' || serviceId === '' || digest === '' || Number.isNaN(atMs)) return undefined;
  if (Name !== configName(serviceId, digest)) return undefined;
  return {
    configId: text(ID),
    serviceId,
    serviceName: printable(stored[labels.name] ?? '', 255),
    digest: printable(digest, 200),
    atMs,
    reason: printable(stored[labels.reason] ?? '', maxReasonChars),
  };
}
