import type { Container } from '../container/container.ts';
import type { Endpoint } from '../container/container-settings.ts';
import { journalPrefix } from '../container/label-names.ts';

/**
 * A helper is a container of Upkeep's own image. A second Upkeep in it finishes the update of the first one's
 * container, because a process cannot stop its own container and continue.
 */
export type HelperOrder = {
  readonly transaction: string;
  /** The name of the container that is replaced. */
  readonly name: string;
  readonly oldId: string;
  readonly oldImageId: string;
  readonly newImageId: string;
  readonly reference: string;
};

/**
 * Set in a helper: the id of its transaction, with `@` and the name of its engine if there are several.
 * `config/table/request.ts` reads it.
 */
export const finishVariable = 'UPKEEP_FINISH_UPDATE';

/** These labels are not a journal. The journal is on the successor. */
export function writeHelperOrder(order: HelperOrder): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labelOf).map(([field, label]) => [label, order[field as keyof HelperOrder]]),
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
  };
}

const labelOf: Readonly<Record<keyof HelperOrder, string>> = {
  transaction: `${journalPrefix}helper`,
  name: `${journalPrefix}name`,
  oldId: `${journalPrefix}old`,
  oldImageId: `${journalPrefix}old-image`,
  newImageId: `${journalPrefix}new-image`,
  reference: `${journalPrefix}ref`,
};

/**
 * The container from which a helper is created: our own, with its command, environment, mounts, user and networks, so
 * that it reaches the engine in the same way. It has no ports, names, fixed addresses or labels, so that nothing else
 * finds it. The engine restarts it until its task is done.
 */
export function asHelper(own: Container, transaction: string, engine?: string): Container {
  const { Config, HostConfig, Networks } = own.settings;
  return {
    ...own,
    settings: {
      ...own.settings,
      Config: {
        ...Config,
        Env: [
          ...(Config.Env ?? []),
          `${finishVariable}=${engine === undefined ? transaction : `${transaction}@${engine}`}`,
        ],
        Hostname: '',
        Domainname: '',
        MacAddress: '',
        ExposedPorts: {},
        Healthcheck: { Test: ['NONE'] },
        Labels: {},
      },
      HostConfig: {
        ...HostConfig,
        PortBindings: {},
        PublishAllPorts: false,
        RestartPolicy: { Name: 'always', MaximumRetryCount: 0 },
      },
      Networks: Object.fromEntries(Object.entries(Networks).map(([name, endpoint]) => [name, unaddressed(endpoint)])),
    },
  };
}

function unaddressed({ Aliases: _, IPAMConfig: __, MacAddress: ___, ...endpoint }: Endpoint): Endpoint {
  return endpoint;
}
