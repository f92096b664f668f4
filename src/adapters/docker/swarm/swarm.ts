import type {
  Swarm,
  SwarmState,
  ServiceCallOutcome,
  ServiceEdit,
  FailedServiceVersion,
  CallOutcome,
} from '../../../domain/outside/engine.ts';
import { printable } from '../../../domain/text/printable.ts';
import { readExisting, outcomeOf, change } from '../calls/calls.ts';
import type { Client } from '../transport/client.ts';
import { fields, text, pathSegment, textMap, readAnswer } from '../transport/answer.ts';
import { inspectService, listServices, listNodes, listTasks, servicePath, readRawList } from './services.ts';
import type { SwarmService } from '../../../domain/container/swarm-service.ts';
import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';
import { encodeCredentials, secretsOf } from '../calls/images.ts';
import { editSpec } from './raw-spec.ts';
import { fnv64 } from '../../../domain/text/plain-data.ts';
import { arrayOf } from '../../../domain/text/json.ts';

/** The swarm of an engine, over its client. */
export function createDockerSwarm(client: Client): Swarm {
  return {
    state: (signal) => swarmState(client, signal),
    services: (signal) => listServices(client, signal),
    service: (id, signal) => inspectService(client, id, signal),
    tasks: (serviceIds, signal) => listTasks(client, serviceIds, signal),
    nodes: (signal) => listNodes(client, signal),
    failures: (signal) => listFailures(client, signal),
    change: (service, edit) => changeService(client, service, edit),
    rollBack: (service) => rollBackService(client, service),
    noteFailure: (failure) => recordFailure(client, failure),
    forgetFailure: (failure) => forgetFailure(client, failure),
  };
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemInfo */
async function swarmState(client: Client, signal?: AbortSignal): Promise<SwarmState> {
  const info = fields(await readExisting(client, { doing: 'ask the engine about its swarm', path: '/info', signal }));
  const { LocalNodeState, ControlAvailable, Cluster, Error } = fields(info['Swarm']);
  const error = printable(text(Error), 300);
  switch (text(LocalNodeState)) {
    case '':
    case 'inactive':
      return { kind: 'none' };
    case 'active':
      break;
    case 'locked':
      return { kind: 'leaderless', message: error || 'this node is locked: docker swarm unlock' };
    default:
      return { kind: 'leaderless', message: error || 'this node has not joined it yet' };
  }
  if (ControlAvailable !== true) return { kind: 'worker' };
  if (error !== '') return { kind: 'leaderless', message: error };
  return { kind: 'manager', clusterId: text(fields(Cluster)['ID']) };
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceUpdate */
async function changeService(client: Client, service: SwarmService, edit: ServiceEdit): Promise<ServiceCallOutcome> {
  const json = editSpec(service.spec, edit);
  if (json === undefined) return { kind: 'refused', status: 400, message: 'its spec has no image to replace' };
  const { credentials } = edit;
  const headers = credentials && { 'x-registry-auth': encodeCredentials(credentials) };
  const outcome = await post(client, service, { json, query: {}, ...(headers && { headers }) });
  if (credentials === undefined || !('message' in outcome)) return outcome;
  return { ...outcome, message: withoutSecrets(outcome.message, secretsOf(credentials)) };
}

/** The engine requires a valid spec in the body, but ignores it. */
function rollBackService(client: Client, service: SwarmService): Promise<ServiceCallOutcome> {
  return post(client, service, { json: service.spec, query: { rollback: 'previous' } });
}

type Post = {
  readonly json: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

function post(client: Client, { id, version }: SwarmService, { query, ...call }: Post): Promise<ServiceCallOutcome> {
  return outcomeOf<ServiceCallOutcome>(client, async () => {
    const reply = await client.sendInNewest({
      method: 'POST',
      path: `${servicePath(id)}/update`,
      query: { version, ...query },
      socket: 'own',
      timeLimit: { for: 'whole', ms: client.deadlines.changeMs },
      ...call,
    });
    if (reply.kind === 'ok') {
      await readAnswer(reply.body).catch(() => undefined);
      return { kind: 'done' };
    }
    const { status, message } = reply;
    if (outOfSequence.test(message)) return { kind: 'conflict' };
    return mayHaveTakenEffect(status) ? { kind: 'unknown', message } : { kind: 'refused', status, message };
  });
}

/** Every version answers 500 "rpc error: … update out of sequence" where a 409 would be expected. */
const outOfSequence = /out of sequence/;

/**
 * A manager forwards the call to the leader, so an error of the manager may hide a success of the leader. A 503 means
 * that the node is not a manager.
 */
function mayHaveTakenEffect(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 503;
}

/**
 * Stores a failure as a config object, which restarts no task and outlives the leader. A label of the service would
 * erase its `UpdateStatus` and `PreviousSpec`.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Config/operation/ConfigCreate
 */
async function recordFailure(
  client: Client,
  { serviceId, serviceName, digest, atMs, reason, askedBy }: Omit<FailedServiceVersion, 'configId'>,
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
        ...(askedBy !== undefined && { [labels.by]: printable(askedBy, maxByChars) }),
      },
      // The engine refuses an empty config.
      Data: Buffer.from('A version that failed, noted by Upkeep\n').toString('base64'),
    },
  });
  // An existing config of this name stores the same failure.
  return outcome.kind === 'refused' && outcome.status === 409 ? { kind: 'noop' } : outcome;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Config/operation/ConfigList */
async function listFailures(client: Client, signal?: AbortSignal): Promise<readonly FailedServiceVersion[]> {
  const answer = await readRawList(client, {
    doing: 'list the configs of the swarm',
    path: '/configs',
    query: { filters: JSON.stringify({ label: [labels.digest] }) },
    signal,
  });
  return arrayOf(answer.value).flatMap((value) => readFailure(value) ?? []);
}

function forgetFailure(client: Client, { configId }: FailedServiceVersion): Promise<CallOutcome> {
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
  by: 'upkeep.failed.by',
} as const;

const maxReasonChars = 500;
const maxByChars = 24;

/** Undefined for another config with such labels, e.g. a person's copy: a failure is deleted once it is obsolete. */
function readFailure(value: unknown): FailedServiceVersion | undefined {
  const { ID, Spec } = fields(value);
  const { Name, Labels } = fields(Spec);
  const stored = textMap(Labels);
  const [serviceId, digest] = [stored[labels.service] ?? '', stored[labels.digest] ?? ''];
  const atMs = Date.parse(stored[labels.at] ?? '');
  const askedBy = stored[labels.by];
  if (text(ID) === '' || serviceId === '' || digest === '' || Number.isNaN(atMs)) return undefined;
  if (Name !== configName(serviceId, digest)) return undefined;
  return {
    configId: text(ID),
    serviceId,
    serviceName: printable(stored[labels.name] ?? '', 255),
    digest: printable(digest, 200),
    atMs,
    reason: printable(stored[labels.reason] ?? '', maxReasonChars),
    ...(askedBy !== undefined && { askedBy: printable(askedBy, maxByChars) }),
  };
}
