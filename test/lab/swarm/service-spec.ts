import type { ServiceSpec, ServiceView, TaskView } from './client.ts';

const second = 1_000_000_000;

export type ServiceWish = {
  readonly replicas?: number;
  readonly global?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** Fields of `UpdateConfig` that differ from the default of these tests: one task at a time, a monitor of 1 s. */
  readonly update?: Readonly<Record<string, unknown>>;
  readonly container?: Readonly<Record<string, unknown>>;
  readonly task?: Readonly<Record<string, unknown>>;
  /** On this port of each node. */
  readonly hostPort?: number;
};

/** A service that starts quickly: short waits, and no network except for its node's. */
export function serviceSpec(name: string, image: string, wish: ServiceWish = {}): ServiceSpec {
  return {
    Name: name,
    ...(wish.labels && { Labels: { ...wish.labels } }),
    Mode: wish.global ? { Global: {} } : { Replicated: { Replicas: wish.replicas ?? 2 } },
    UpdateConfig: { Parallelism: 1, Monitor: second, FailureAction: 'rollback', Order: 'stop-first', ...wish.update },
    RollbackConfig: { Parallelism: 0, Monitor: second, FailureAction: 'pause', Order: 'stop-first' },
    ...(wish.hostPort !== undefined && {
      EndpointSpec: {
        Ports: [{ Protocol: 'tcp', TargetPort: 8080, PublishedPort: wish.hostPort, PublishMode: 'host' }],
      },
    }),
    TaskTemplate: {
      RestartPolicy: { Condition: 'any', Delay: second / 2 },
      ...wish.task,
      ContainerSpec: { Image: image, StopGracePeriod: second, ...wish.container },
    },
  };
}

/** Running tasks whose desired state is running. */
export function runningTasks(tasks: readonly TaskView[], digest?: string): readonly TaskView[] {
  return tasks.filter(
    ({ DesiredState, Status, Spec }) =>
      DesiredState === 'running' &&
      Status.State === 'running' &&
      (digest === undefined || Spec.ContainerSpec.Image.endsWith(digest)),
  );
}

/** Swarm's updater has ended, according to its state. */
export function hasEnded({ UpdateStatus }: ServiceView): boolean {
  return ['completed', 'paused', 'rollback_completed', 'rollback_paused'].includes(UpdateStatus?.State ?? '');
}
