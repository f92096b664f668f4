import { normalisePlatform, type Platform } from '../../../domain/reference/platform.ts';
import {
  type RawSpec,
  type ServiceMode,
  swarmUpdateStatuses,
  type SwarmService,
  type UpdateState,
} from '../../../domain/swarm/swarm-service.ts';
import { printable } from '../../../domain/text/printable.ts';
import { count, fields, text, textMap, texts, timeMs } from '../transport/json-fields.ts';
import { type JsonObject, arrayOf } from '../../../domain/text/json-value.ts';
import { sliceOf, type Span, spanAt } from './json-spans.ts';

/** Undefined for a service without id, version or containers, e.g. of a plugin. */
export function readService(raw: string, span: Span, value: unknown): SwarmService | undefined {
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
    hasHostPorts: arrayOf(fields(EndpointSpec)['Ports']).some((port) => text(fields(port)['PublishMode']) === 'host'),
    constraints: texts(Constraints),
    platforms: Array.isArray(Platforms) ? Platforms.map(readPlatform) : undefined,
    previous: readPrevious(PreviousSpec),
    // This assertion is safe: the text is the unchanged member.
    spec: sliceOf(raw, spec) as RawSpec,
  };
}

export function readPlatform(platform: unknown): Platform {
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

const modes: readonly (readonly [string, ServiceMode])[] = [
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

function readUpdate({ State, StartedAt, CompletedAt, Message }: JsonObject): UpdateState | undefined {
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
