import { setTimeout as sleep } from 'node:timers/promises';
import { httpRequest } from '../http.ts';

/** The managers' API for the setup and the assertions of tests; it is not the code under test. */
export type SwarmClient = {
  /** Any call to the first manager that answers; returns the unparsed body. */
  readonly send: (request: SwarmRequest) => Promise<SwarmReply>;
  /** The same, parsed; throws the manager's error. */
  readonly must: <Answer = unknown>(method: string, path: string, body?: object | string) => Promise<Answer>;
  readonly create: (spec: ServiceSpec, headers?: Headers) => Promise<string>;
  readonly service: (id: string) => Promise<ServiceView>;
  /** All tasks of a service that the manager stores, including ended ones. */
  readonly tasks: (id: string) => Promise<readonly TaskView[]>;
  readonly nodeViews: () => Promise<readonly NodeView[]>;
  /**
   * Reads, changes and posts the spec of a service like a person's client; the query of the call may have more
   * parameters.
   */
  readonly attempt: (
    id: string,
    edit: (spec: ServiceSpec) => void,
    query?: string,
    headers?: Headers,
  ) => Promise<SwarmReply>;
  /** The same, repeated if the swarm changed the version in between, which it does mainly for a new service. */
  readonly change: SwarmClient['attempt'];
  /** Resolves with the value once it passes; after the timeout throws the last value. */
  readonly until: (
    id: string,
    passes: (service: ServiceView, tasks: readonly TaskView[]) => boolean,
    timeoutMs?: number,
  ) => Promise<Seen>;
  readonly allReady: (nodes: number) => Promise<void>;
  /** Removes every service, config and secret, and waits for the end of their tasks' containers. */
  readonly clear: () => Promise<void>;
};

export type SwarmRequest = {
  readonly method?: string;
  readonly path: string;
  readonly body?: object | string;
  readonly headers?: Headers;
  /** Headers for the node; default: the first manager that answers. */
  readonly socket?: string;
  readonly timeoutMs?: number;
};

export type SwarmReply = { readonly status: number; readonly text: string };

export type Seen = { readonly service: ServiceView; readonly tasks: readonly TaskView[] };

type Headers = Readonly<Record<string, string>>;

/**
 * Fields of the API that tests use; others are kept.
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Service
 */
export type ServiceSpec = {
  Name: string;
  Labels?: Record<string, string>;
  Mode?: { Replicated?: { Replicas: number }; Global?: object; ReplicatedJob?: object };
  UpdateConfig?: Record<string, unknown>;
  RollbackConfig?: Record<string, unknown>;
  EndpointSpec?: object;
  TaskTemplate: {
    ContainerSpec: { Image: string; Labels?: Record<string, string>; [field: string]: unknown };
    ForceUpdate?: number;
    [field: string]: unknown;
  };
};

export type ServiceView = {
  readonly ID: string;
  readonly Version: { readonly Index: number };
  readonly Spec: ServiceSpec;
  readonly PreviousSpec?: ServiceSpec;
  readonly UpdateStatus?: { readonly State: string; readonly Message: string };
};

export type TaskView = {
  readonly ID: string;
  readonly NodeID?: string;
  readonly Slot?: number;
  readonly DesiredState: string;
  readonly Spec: { readonly ContainerSpec: { readonly Image: string } };
  readonly Status: {
    readonly State: string;
    readonly Err?: string;
    readonly Message?: string;
    readonly ContainerStatus?: { readonly ContainerID?: string; readonly ExitCode?: number };
  };
};

export type NodeView = {
  readonly ID: string;
  readonly Description: { readonly Hostname: string };
  readonly Status: { readonly State: string };
  readonly ManagerStatus?: { readonly Leader?: boolean };
};

const defaultTimeoutMs = 60_000;
const everyMs = 50;

/** `sockets`: of the nodes that are managers, or may become one. */
export function swarmClient(sockets: () => readonly string[]): SwarmClient {
  const sendTo = async (socket: string, request: SwarmRequest): Promise<SwarmReply> => {
    const body = typeof request.body === 'object' ? JSON.stringify(request.body) : request.body;
    const reply = await httpRequest({
      method: request.method ?? 'GET',
      url: `http://engine${request.path}`,
      socketPath: socket,
      headers: { ...request.headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body }),
      timeoutMs: request.timeoutMs ?? 30_000,
    });
    return { status: reply.status, text: reply.body.toString() };
  };
  const send = async (request: SwarmRequest): Promise<SwarmReply> => {
    if (request.socket !== undefined) return sendTo(request.socket, request);
    let failure: unknown;
    for (const socket of sockets()) {
      try {
        const reply = await sendTo(socket, request);
        // A node that is not a manager answers 503.
        if (reply.status !== 503) return reply;
        failure = new Error(reply.text);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };
  const must = async <Answer>(method: string, path: string, body?: object | string): Promise<Answer> => {
    const reply = await send({ method, path, ...(body !== undefined && { body }) });
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return (reply.text === '' ? undefined : JSON.parse(reply.text)) as Answer;
  };
  const service = (id: string) => must<ServiceView>('GET', `/services/${id}`);
  const tasks = (id: string) =>
    must<TaskView[]>('GET', `/tasks?filters=${encodeURIComponent(JSON.stringify({ service: [id] }))}`);
  const nodeViews = () => must<NodeView[]>('GET', '/nodes');
  const attempt: SwarmClient['attempt'] = async (id, edit, query = '', headers = {}) => {
    const { Spec, Version } = await service(id);
    const spec = structuredClone(Spec);
    edit(spec);
    const path = `/services/${id}/update?version=${Version.Index}${query}`;
    return send({ method: 'POST', path, body: spec, headers });
  };
  const waitFor = async (passes: () => Promise<boolean>, why: () => string, timeoutMs = defaultTimeoutMs) => {
    const deadlineMs = performance.now() + timeoutMs;
    while (!(await passes())) {
      if (performance.now() > deadlineMs) throw new Error(`The expected state was not reached in time: ${why()}`);
      await sleep(everyMs);
    }
  };

  return {
    send,
    must,
    service,
    tasks,
    nodeViews,
    create: async (spec, headers = {}) => {
      const reply = await send({ method: 'POST', path: '/services/create', body: spec, headers });
      if (reply.status !== 201) throw new Error(`create of ${spec.Name}: ${reply.status} ${reply.text}`);
      return (JSON.parse(reply.text) as { ID: string }).ID;
    },
    attempt,
    change: async (...call) => {
      const deadlineMs = performance.now() + defaultTimeoutMs;
      for (;;) {
        const reply = await attempt(...call);
        if (!reply.text.includes('out of sequence') || performance.now() > deadlineMs) return reply;
      }
    },
    until: async (id, passes, timeoutMs) => {
      let seen: Seen | undefined;
      let failure = '';
      await waitFor(
        async () => {
          try {
            const [now, all] = await Promise.all([service(id), tasks(id)]);
            seen = { service: now, tasks: all };
            return passes(now, all);
          } catch (error) {
            // During an election of the leader no manager answers.
            failure = String(error);
            return false;
          }
        },
        () => (seen ? inWords(seen) : failure),
        timeoutMs,
      );
      return seen as Seen;
    },
    allReady: (count) => {
      let last = '';
      return waitFor(
        async () => {
          try {
            const views = await nodeViews();
            last = views.map(({ Description, Status }) => `${Description.Hostname} ${Status.State}`).join(', ');
            return views.filter(({ Status }) => Status.State === 'ready').length === count;
          } catch (error) {
            last = String(error);
            return false;
          }
        },
        () => last,
      );
    },
    clear: async () => {
      let last = '';
      const removeAll = async () => {
        try {
          for (const kind of ['services', 'configs', 'secrets'])
            for (const { ID } of await must<{ ID: string }[]>('GET', `/${kind}`))
              await must('DELETE', `/${kind}/${ID}`);
          return true;
        } catch (error) {
          // Managers that have just come back may elect another leader.
          last = String(error);
          return false;
        }
      };
      await waitFor(removeAll, () => last);
      await Promise.all(
        sockets().map((socket) =>
          waitFor(
            () => removeTasks(sendTo, socket),
            () => socket,
          ),
        ),
      );
    },
  };
}

/** A container that the node has not removed yet would disturb the next test with its ports and its load. */
async function removeTasks(
  sendTo: (socket: string, request: SwarmRequest) => Promise<SwarmReply>,
  socket: string,
): Promise<boolean> {
  const filters = encodeURIComponent(JSON.stringify({ label: ['com.docker.swarm.task'] }));
  const list = await sendTo(socket, { path: `/containers/json?all=1&filters=${filters}` });
  const containers = JSON.parse(list.text) as { Id: string }[];
  for (const { Id } of containers) await sendTo(socket, { method: 'DELETE', path: `/containers/${Id}?force=1&v=1` });
  return containers.length === 0;
}

/** One line of a manager's state, for the message of a failed test. */
export function inWords({ service, tasks }: Seen): string {
  const shown = tasks.map(
    ({ Slot, DesiredState, Status, Spec }) =>
      `${Slot ?? '-'} ${Status.State}/${DesiredState} ${Spec.ContainerSpec.Image.slice(-8)} ${Status.Err ?? ''}`,
  );
  const image = service.Spec.TaskTemplate.ContainerSpec.Image;
  return `${service.UpdateStatus?.State ?? 'no update'} ${service.UpdateStatus?.Message ?? ''} of ${image}\n${shown.join('\n')}`;
}
