/** The update of our own container: by a helper, a second container that finishes what its own end would interrupt. */

import type { Container } from '../container/container.ts';
import type { Endpoint, HostConfig, MountPoint } from '../container/container-settings.ts';
import { journalPrefix } from '../image/image-labels.ts';
import type { SelfUpdate, DesiredEndState } from '../settings/effective-settings.ts';
import { removesItself } from '../transaction/journal.ts';

/**
 * A helper is a container of Upkeep's own image. A second Upkeep in it finishes the update of the first one's
 * container, because a process cannot stop its own container and continue; or the update of the engine's door, the
 * container through which the first one reaches the engine.
 */
export type HelperOrder = {
  readonly transaction: string;
  /** The name of the container that is replaced. */
  readonly name: string;
  readonly oldId: string;
  readonly oldImageId: string;
  readonly newImageId: string;
  readonly reference: string;
  /** The name of the container whose Upkeep waits for the update of a door. Absent for its own update. */
  readonly waiting?: string;
};

/** Set in a helper: its `HelperTask`. `config/table/schedule.ts` reads it. */
export const finishVariable = 'UPKEEP_FINISH_UPDATE';

export type HelperTask = {
  readonly transaction: string;
  /** The name of its engine, if there are several. */
  readonly engine?: string | undefined;
  /** The path of the engine's socket in the helper of a door. */
  readonly socket?: string | undefined;
};

export function writeHelperTask({ transaction, engine = '', socket = '' }: HelperTask): string {
  return [transaction, engine, socket].join('@').replace(/@+$/, '');
}

export function readHelperTask(text: string): HelperTask {
  const [transaction = '', engine = '', ...socket] = text.split('@');
  return { transaction, engine: engine || undefined, socket: socket.join('@') || undefined };
}

/** These labels are not a journal. The journal is on the successor. */
export function writeHelperOrder(order: HelperOrder): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labelOf).flatMap(([field, label]) => {
      const value = order[field as keyof HelperOrder];
      return value === undefined ? [] : [[label, value]];
    }),
  );
}

/** Undefined for a container that is not a helper. */
export function readHelperOrder(labels: Readonly<Record<string, string>>): HelperOrder | undefined {
  const read = (field: keyof HelperOrder) => labels[labelOf[field]] ?? '';
  if (read('transaction') === '' || read('name') === '') return undefined;
  return {
    transaction: read('transaction'),
    name: read('name'),
    oldId: read('oldId'),
    oldImageId: read('oldImageId'),
    newImageId: read('newImageId'),
    reference: read('reference'),
    ...(read('waiting') !== '' && { waiting: read('waiting') }),
  };
}

const labelOf: Readonly<Record<keyof HelperOrder, string>> = {
  transaction: `${journalPrefix}helper`,
  name: `${journalPrefix}name`,
  oldId: `${journalPrefix}old`,
  oldImageId: `${journalPrefix}old-image`,
  newImageId: `${journalPrefix}new-image`,
  reference: `${journalPrefix}ref`,
  waiting: `${journalPrefix}waiting`,
};

/**
 * The container from which a helper is created: our own, with its command, environment, mounts, user and networks, so
 * that it reaches the engine in the same way. It has no ports, names, fixed addresses or labels, so that nothing else
 * finds it. The engine restarts it until its task is done.
 */
export function asHelper(own: Container, task: HelperTask): Container {
  const { Config, HostConfig, Networks } = own.settings;
  return {
    ...own,
    settings: {
      ...own.settings,
      Config: {
        ...Config,
        Env: [...(Config.Env ?? []), `${finishVariable}=${writeHelperTask(task)}`],
        Hostname: '',
        Domainname: '',
        MacAddress: '',
        ExposedPorts: {},
        Healthcheck: { Test: ['NONE'] },
        Labels: {},
      },
      HostConfig: {
        ...HostConfig,
        AutoRemove: false,
        PortBindings: {},
        PublishAllPorts: false,
        RestartPolicy: { Name: 'always', MaximumRetryCount: 0 },
      },
      Networks: Object.fromEntries(Object.entries(Networks).map(([name, endpoint]) => [name, unaddressed(endpoint)])),
    },
  };
}

/**
 * The container from which the helper of a door is created: the same with the engine's socket, from a container that
 * has it, and as root, because only that one's user is known to have access. Undefined without a mount of the socket.
 */
export function asDoorHelper(
  own: Container,
  holder: Container,
  task: Omit<HelperTask, 'socket'>,
): Container | undefined {
  const mount = holder.settings.Mounts.find(isSocketMount);
  if (mount === undefined) return undefined;
  const { settings: its } = holder;
  const source = hostPathOf(holder, mount);
  const isFolder = folderOfSockets.test(source);
  const socket = isFolder ? `${helperFolder}/docker.sock` : `${helperFolder}.sock`;
  const helper = asHelper(own, { ...task, socket });
  const { Config, HostConfig } = helper.settings;
  const confinement = (text: string) => /^(?:label|apparmor)[:=]/.test(text);
  const optionsOf = ({ SecurityOpt }: HostConfig) =>
    Array.isArray(SecurityOpt) ? SecurityOpt.filter((each): each is string => typeof each === 'string') : [];
  return {
    ...helper,
    settings: {
      ...helper.settings,
      Config: { ...Config, User: '0:0' },
      HostConfig: {
        ...HostConfig,
        Binds: [...(HostConfig.Binds ?? []), `${source}:${isFolder ? helperFolder : socket}`],
        CapDrop: null,
        Privileged: HostConfig.Privileged === true || its.HostConfig.Privileged === true,
        UsernsMode: its.HostConfig['UsernsMode'] ?? '',
        SecurityOpt: [
          ...optionsOf(HostConfig).filter((option) => !confinement(option)),
          ...optionsOf(its.HostConfig).filter(confinement),
        ],
      },
    },
  };
}

/** Not a path that a container of Upkeep has a mount at. */
const helperFolder = '/run/upkeep-engine';

const folderOfSockets = /^\/(?:var\/)?run\/?$/;

function isSocketMount({ Source = '', Destination }: MountPoint): boolean {
  return isEngineSocket({ source: Source, target: Destination });
}

/** As it was given to the engine, which may show another path of a machine around it. */
function hostPathOf({ settings: { HostConfig } }: Container, { Source = '', Destination }: MountPoint): string {
  const bind = (HostConfig.Binds ?? []).map((each) => each.split(':')).find(([, target]) => target === Destination);
  return bind?.[0] ?? Source;
}

/** Whether a mount is the socket of an engine, or the folder with it. */
export function isEngineSocket({ source, target }: { readonly source: string; readonly target: string }): boolean {
  return (
    /(?:docker|podman|engine)[^/]*\.sock$/.test(source) ||
    folderOfSockets.test(source) ||
    /\/(?:docker|podman)\.sock$/.test(target)
  );
}

function unaddressed({ Aliases: _, IPAMConfig: __, MacAddress: ___, ...endpoint }: Endpoint): Endpoint {
  return endpoint;
}

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
