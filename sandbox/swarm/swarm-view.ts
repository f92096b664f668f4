import { normalisePlatform } from '../../src/domain/reference/platform.ts';
import type { RawSpec, ServiceMode, SwarmService, SwarmTask } from '../../src/domain/swarm/swarm-service.ts';
import { wantedPlaces } from './orchestrator.ts';
import {
  hasEnded,
  monitorMs,
  tasksOf,
  type SandboxService,
  type SandboxServiceSpec,
  type SandboxTask,
  type SwarmState,
} from './swarm-world.ts';

/** A service as in a manager's answer; with `isCounted`, with the manager's own count of its tasks. */
export function viewService(
  world: SwarmState,
  service: SandboxService,
  { isCounted }: { readonly isCounted: boolean },
): SwarmService {
  const { id, spec, previous, status, version } = service;
  const { ContainerSpec, Placement } = spec.TaskTemplate;
  return {
    id,
    name: spec.Name,
    version: String(version),
    image: ContainerSpec.Image,
    labels: { ...spec.Labels },
    containerLabels: { ...ContainerSpec.Labels },
    createdAtMs: service.createdAtMs,
    mode: modeOf(spec),
    replicas: spec.Mode?.Replicated?.Replicas,
    count: isCounted ? count(world, service) : undefined,
    update: status,
    order: spec.UpdateConfig?.Order === 'start-first' ? 'start-first' : 'stop-first',
    failureAction: failureAction(spec.UpdateConfig?.FailureAction),
    monitorMs: monitorMs(spec.UpdateConfig),
    hasHostPorts: (spec.EndpointSpec?.Ports ?? []).some(({ PublishMode }) => PublishMode === 'host'),
    constraints: Placement?.Constraints ?? [],
    platforms: Placement?.Platforms?.map(({ OS, Architecture }) =>
      normalisePlatform({ os: OS, architecture: Architecture }),
    ),
    previous: previous && {
      image: previous.TaskTemplate.ContainerSpec.Image,
      labels: { ...previous.Labels },
    },
    spec: JSON.stringify(spec) as RawSpec,
  };
}

export function viewTask({ callOff: _, behaviour: __, ...task }: SandboxTask): SwarmTask {
  return task;
}

/** As an engine counts: a task on a node that is down still counts as running. */
function count(world: SwarmState, service: SandboxService): NonNullable<SwarmService['count']> {
  const running = tasksOf(world, service).filter((task) => task.state === 'running' && !hasEnded(task));
  return { running: running.length, wanted: wantedPlaces(world, service).length };
}

function modeOf({ Mode }: SandboxServiceSpec): ServiceMode {
  if (Mode?.ReplicatedJob !== undefined) return 'replicated-job';
  if (Mode?.GlobalJob !== undefined) return 'global-job';
  return Mode?.Global === undefined ? 'replicated' : 'global';
}

function failureAction(word: string | undefined): SwarmService['failureAction'] {
  return word === 'continue' || word === 'rollback' ? word : 'pause';
}
