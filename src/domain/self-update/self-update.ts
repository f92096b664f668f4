import type { SelfUpdate } from '../settings/service-settings.ts';
import { removesItself } from '../transaction/auto-remove.ts';
import type { DesiredEndState } from '../settings/desired-end-state.ts';
import type { Container } from '../container/container.ts';

/**
 * Why Upkeep does not hand the update of its own container to a helper; undefined when it does. `moved`: the containers
 * that would be replaced with it, by id, with their state after it.
 */
export function whyNotSelfUpdated(
  container: Container,
  { selfUpdate, moved }: { readonly selfUpdate: SelfUpdate; readonly moved: ReadonlyMap<string, DesiredEndState> },
): string | undefined {
  const why = whyOff[selfUpdate](container);
  if (why !== undefined) return `is Upkeep itself, ${why}`;
  if (moved.size > 1) return 'is Upkeep itself, which is only replaced alone';
  if (removesItself(container)) return 'is Upkeep itself, and is removed by the engine as soon as it stops (--rm)';
  if (moved.get(container.id) !== 'running') return 'is Upkeep itself, which must not stay stopped';
  return undefined;
}

/** Whether host ports lead into the container. */
export function publishesPorts({ settings: { HostConfig } }: Container): boolean {
  const bindings = Object.values(HostConfig.PortBindings ?? {});
  return HostConfig.PublishAllPorts === true || bindings.some((bound) => bound !== null && bound.length > 0);
}

const whyOff: Readonly<Record<SelfUpdate, (container: Container) => string | undefined>> = {
  on: () => undefined,
  'unless-published': (container) =>
    publishesPorts(container)
      ? 'and self-update is off because the HTTP API is on and the container publishes ports: re-create it by hand'
      : undefined,
  off: () => 'and self-update is off',
  'not-by-this-command': () => 'which only the running service replaces',
  'not-main-process': () => 'which is not the main process of the container: re-create it by hand',
};
