import { type SwarmNode, type SwarmTask, type TaskState, taskStates } from '../../../domain/swarm/swarm-service.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { fields, text, textMap, timeMs } from '../transport/json-fields.ts';
import { arrayOf } from '../../../domain/text/json-value.ts';
import { readRawList } from './read-raw.ts';
import { readPlatform } from './read-service.ts';

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
function stateOf(word: unknown): TaskState {
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
