/** The update of our own container: by a helper, a second container that finishes what its own end would interrupt. */

import type { Container, Endpoint, HostConfig, MountPoint } from '../container/container.ts';
import { journalPrefix } from '../image/labels.ts';

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
