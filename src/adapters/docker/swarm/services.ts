import {
  isToRun,
  taskStates,
  swarmUpdateStatuses,
  type SwarmService,
  type SwarmNode,
  type SwarmTask,
  type RawSpec,
} from '../../../domain/container/swarm-service.ts';
import { quoted, printable } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import {
  pathSegment,
  fields,
  text,
  textMap,
  timeMs,
  count,
  texts,
  megabyte,
  notJson,
  readText,
} from '../transport/answer.ts';
import { arrayOf, type JsonObject } from '../../../domain/text/json.ts';
import { elementsAt, spanAt, sliceOf, type Span } from './raw-spec.ts';
import { normalisePlatform, type Platform } from '../../../domain/image/platform.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { get, type Read } from '../calls/calls.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceList */
export async function listServices(client: Client, signal?: AbortSignal): Promise<readonly SwarmService[]> {
  const answer = await readRawList(client, {
    doing: 'list the services of the swarm',
    path: '/services',
    query: { status: 'true' },
    signal,
  });
  const spans = elementsAt(answer.text, 0) ?? [];
  const services = arrayOf(answer.value).flatMap((value, index) => {
    const span = spans[index];
    return span === undefined ? [] : (readService(answer.text, span, value) ?? []);
  });
  return await withDelayedTasks(client, services, signal);
}

/**
 * The swarm does not count the tasks of a global service that wait for their restart, so a service whose tasks keep
 * failing has the count of one that no node fits. Only their tasks differ:
 * https://github.com/moby/swarmkit/blob/master/manager/controlapi/service.go
 */
async function withDelayedTasks(
  client: Client,
  services: readonly SwarmService[],
  signal: AbortSignal | undefined,
): Promise<readonly SwarmService[]> {
  const isInDoubt = ({ mode, count }: SwarmService) => mode === 'global' && count?.running === 0 && count.wanted === 0;
  const inDoubt = services.filter(isInDoubt).map(({ id }) => id);
  const toRun = (await listTasks(client, inDoubt, signal)).filter(isToRun);
  return services.map((service) => {
    const wanted = toRun.filter(({ serviceId }) => serviceId === service.id).length;
    return wanted === 0 ? service : { ...service, count: { running: 0, wanted } };
  });
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceInspect */
export async function inspectService(
  client: Client,
  id: string,
  signal?: AbortSignal,
): Promise<SwarmService | undefined> {
  const doing = `read the service ${quoted(id)}`;
  const answer = await readRaw(client, { doing, path: servicePath(id), signal });
  const span = answer && spanAt(answer.text, []);
  const service = span && readService(answer.text, span, answer.value);
  // The engine also finds services by name and by a prefix of the id.
  return service?.id === id ? service : undefined;
}

export function servicePath(id: string): string {
  return `/services/${pathSegment(id)}`;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Task/operation/TaskList */
export async function listTasks(
  client: Client,
  serviceIds: readonly string[],
  signal?: AbortSignal,
): Promise<readonly SwarmTask[]> {
  if (serviceIds.length === 0) return [];
  const query = { filters: JSON.stringify({ service: serviceIds }) };
  const answer = await readRawList(client, { doing: 'list the tasks of the swarm', path: '/tasks', query, signal });
  // The engine's filter also matches prefixes and names.
  return arrayOf(answer.value)
    .map(readTask)
    .filter((task) => task.id !== '' && serviceIds.includes(task.serviceId));
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Node/operation/NodeList */
export async function listNodes(client: Client, signal?: AbortSignal): Promise<readonly SwarmNode[]> {
  const answer = await readRawList(client, { doing: 'list the nodes of the swarm', path: '/nodes', signal });
  return arrayOf(answer.value).map(readNode);
}

function readTask(value: unknown): SwarmTask {
  const { ID, ServiceID, NodeID, Slot, Spec, Status, DesiredState, CreatedAt } = fields(value);
  const { State, Err, Timestamp, ContainerStatus } = fields(Status);
  const exitCode = fields(ContainerStatus)['ExitCode'];
  return {
    id: text(ID),
    serviceId: text(ServiceID),
    nodeId: text(NodeID),
    slot: typeof Slot === 'number' && Slot > 0 ? Slot : undefined,
    image: text(fields(fields(Spec)['ContainerSpec'])['Image']),
    state: stateOf(State),
    desired: stateOf(DesiredState),
    error: printable(text(Err), maxErrorChars),
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    createdAtMs: timeMs(CreatedAt),
    stateAtMs: timeMs(Timestamp),
  };
}

/** An unknown state proves nothing: the task counts as not running yet. */
function stateOf(word: unknown): SwarmTask['state'] {
  return taskStates.find((state) => state === word) ?? 'new';
}

const maxErrorChars = 500;

function readNode(value: unknown): SwarmNode {
  const { ID, Spec, Description, Status } = fields(value);
  const { Role, Availability, Labels } = fields(Spec);
  const { Hostname, Platform } = fields(Description);
  const { State } = fields(Status);
  return {
    id: text(ID),
    hostname: printable(text(Hostname), 255),
    state: (['ready', 'down', 'disconnected'] as const).find((word) => word === State) ?? 'unknown',
    availability: (['active', 'pause'] as const).find((word) => word === Availability) ?? 'drain',
    role: Role === 'manager' ? 'manager' : 'worker',
    platform: readPlatform(Platform),
    labels: textMap(Labels),
  };
}

/** Undefined for a service without id, version or containers, e.g. of a plugin. */
function readService(raw: string, span: Span, value: unknown): SwarmService | undefined {
  const { ID, Version, Spec, PreviousSpec, UpdateStatus, ServiceStatus } = fields(value);
  const spec = spanAt(raw, ['Spec'], span.start);
  const version = spanAt(raw, ['Version', 'Index'], span.start);
  const { Name, Labels, TaskTemplate, Mode, UpdateConfig, EndpointSpec } = fields(Spec);
  const { ContainerSpec, Placement } = fields(TaskTemplate);
  const container = fields(ContainerSpec);
  const id = text(ID);
  const image = text(container['Image']);
  if (id === '' || image === '' || spec === undefined || version === undefined) return undefined;
  if (fields(Version)['Index'] === undefined) return undefined;
  const { Constraints, Platforms } = fields(Placement);
  return {
    id,
    name: text(Name),
    version: sliceOf(raw, version),
    image,
    labels: textMap(Labels),
    containerLabels: textMap(container['Labels']),
    createdAtMs: timeMs(fields(value)['CreatedAt']),
    ...readMode(fields(Mode)),
    count: readCount(ServiceStatus),
    update: readUpdate(fields(UpdateStatus)),
    ...readUpdateConfig(fields(UpdateConfig)),
    pauseMs: readPauseMs(fields(UpdateConfig), fields(ContainerSpec)),
    hasHostPorts: arrayOf(fields(EndpointSpec)['Ports']).some((port) => text(fields(port)['PublishMode']) === 'host'),
    constraints: texts(Constraints),
    platforms: Array.isArray(Platforms) ? Platforms.map(readPlatform) : undefined,
    previous: readPrevious(PreviousSpec),
    // This assertion is safe: the text is the unchanged member.
    spec: sliceOf(raw, spec) as RawSpec,
  };
}

function readPlatform(platform: unknown): Platform {
  const { Architecture, OS } = fields(platform);
  return normalisePlatform({ os: text(OS), architecture: text(Architecture) });
}

function readPrevious(previousSpec: unknown): SwarmService['previous'] {
  const { Labels, TaskTemplate } = fields(previousSpec);
  const image = text(fields(fields(TaskTemplate)['ContainerSpec'])['Image']);
  return image === '' ? undefined : { image, labels: textMap(Labels) };
}

/** An unknown mode may run tasks to completion, so the service counts as a job. */
function readMode(mode: JsonObject): Pick<SwarmService, 'mode' | 'replicas'> {
  const known = modes.find(([field]) => mode[field] !== undefined && mode[field] !== null);
  const { Replicas } = fields(mode['Replicated']);
  return { mode: known?.[1] ?? 'replicated-job', replicas: known?.[0] === 'Replicated' ? count(Replicas) : undefined };
}

const modes: readonly (readonly [string, SwarmService['mode']])[] = [
  ['Replicated', 'replicated'],
  ['Global', 'global'],
  ['ReplicatedJob', 'replicated-job'],
  ['GlobalJob', 'global-job'],
];

function readCount(status: unknown): SwarmService['count'] {
  if (status === undefined || status === null) return undefined;
  const { RunningTasks, DesiredTasks } = fields(status);
  return { running: count(RunningTasks), wanted: count(DesiredTasks) };
}

function readUpdate({ State, StartedAt, CompletedAt, Message }: JsonObject): SwarmService['update'] {
  const state = swarmUpdateStatuses.find((word) => word === State);
  if (state === undefined) return undefined;
  const times = { startedAtMs: timeMs(StartedAt) || undefined, completedAtMs: timeMs(CompletedAt) || undefined };
  return { state, ...times, message: printable(text(Message), maxMessageChars) };
}

const maxMessageChars = 500;

/** Defaults are the swarm's own: https://docs.docker.com/reference/compose-file/deploy/#update_config */
function readUpdateConfig({
  Order,
  FailureAction,
  Monitor,
}: JsonObject): Pick<SwarmService, 'order' | 'failureAction' | 'monitorMs'> {
  const failureAction = (['continue', 'rollback'] as const).find((word) => word === FailureAction) ?? 'pause';
  return {
    order: Order === 'start-first' ? 'start-first' : 'stop-first',
    failureAction,
    monitorMs: count(Monitor) / 1e6 || defaultMonitorMs,
  };
}

/** https://github.com/moby/swarmkit/blob/master/manager/orchestrator/update/updater.go */
const defaultMonitorMs = 5000;

/** Durations in nanoseconds: https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceInspect */
function readPauseMs({ Delay }: JsonObject, { StopGracePeriod, Healthcheck }: JsonObject): number {
  const { StartPeriod, Interval, Timeout, Retries } = fields(Healthcheck);
  const tries = (count(Retries) || 3) * (count(Interval || 30e9) + count(Timeout || 30e9));
  const startNs = Healthcheck === undefined ? 0 : count(StartPeriod) + tries;
  return (count(Delay) + count(StopGracePeriod || 10e9) + startNs) / 1e6;
}

/** An answer as text that is valid JSON. */
type RawAnswer = { readonly text: string; readonly value: unknown };

/** A `GET` in the engine's newest version. Undefined when the object does not exist. Throws a `ServiceError`. */
async function readRaw(client: Client, request: Read): Promise<RawAnswer | undefined> {
  const body = await get(client, request, client.sendInNewest);
  if (body === undefined) return undefined;
  const text = await readText(body, maxRawBytes, request.doing);
  try {
    return { text, value: JSON.parse(text) };
  } catch (cause) {
    throw notJson(cause);
  }
}

/** Like `readRaw`, for a list. Throws if the list is missing. */
export async function readRawList(client: Client, request: Read): Promise<RawAnswer> {
  const answer = await readRaw(client, request);
  if (answer !== undefined && (answer.value === null || Array.isArray(answer.value))) return answer;
  throw new ServiceError('engine-refused', `Cannot ${request.doing}: the engine's answer is not a list`);
}

/** A service's entry is about 1 kB, a task's 3 kB: 20,000 tasks fit. */
const maxRawBytes = 64 * megabyte;
