import type { SelfUpdate, DesiredEndState } from '../settings/effective-settings.ts';
import { removesItself } from '../transaction/auto-remove.ts';
import type { Container } from '../container/container.ts';

type Replacement = {
  readonly selfUpdate: SelfUpdate;
  /** The containers that would be replaced with it, by id, with their state after it. */
  readonly moved: ReadonlyMap<string, DesiredEndState>;
};

/** Why Upkeep does not hand the update of its own container to a helper; undefined when it does. */
export function whyNotSelfUpdated(container: Container, replacement: Replacement): string | undefined {
  const why = whyOff[replacement.selfUpdate](container);
  return why === undefined ? whyNotByHelper(container, replacement, 'is Upkeep itself') : `is Upkeep itself, ${why}`;
}

/** The same for the engine's door. `reason` follows its name, as in `OwnWay`. */
export function whyNoDoorUpdate(container: Container, replacement: Replacement, reason: string): string | undefined {
  const why = whyNoDoor[replacement.selfUpdate];
  return why === undefined ? whyNotByHelper(container, replacement, reason) : `${reason}, ${why}`;
}

function whyNotByHelper(container: Container, { moved }: Replacement, reason: string): string | undefined {
  if (moved.size > 1) return `${reason}, which is only replaced alone`;
  if (removesItself(container)) return `${reason}, and is removed by the engine as soon as it stops (--rm)`;
  return moved.get(container.id) === 'running' ? undefined : `${reason}, which must not stay stopped`;
}

/** Whether host ports lead into the container. */
export function publishesPorts({ settings: { HostConfig } }: Container): boolean {
  const bindings = Object.values(HostConfig.PortBindings ?? {});
  return HostConfig.PublishAllPorts === true || bindings.some((bound) => bound !== null && bound.length > 0);
}

/** The ports of our own container do not matter: a helper has none. */
const whyNoDoor: Readonly<Record<SelfUpdate, string | undefined>> = {
  on: undefined,
  'unless-published': undefined,
  off: 'and self-update is off',
  'not-by-this-command': 'which only the running service replaces',
  'not-main-process': 'and Upkeep is not the main process of its container: update it by hand',
};

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
