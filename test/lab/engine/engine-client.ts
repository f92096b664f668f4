import { setTimeout as sleep } from 'node:timers/promises';
import { httpRequest } from '../http.ts';

/** The engine's API for the setup and the assertions of tests; it is not the code under test. */
export type EngineClient = {
  /** Any call: `path` without a version prefix. A JSON body of the reply is parsed. */
  readonly call: (method: string, path: string, body?: object) => Promise<EngineReply>;
  /** Pulls `repository:tag`; throws the error of the stream. */
  readonly pull: (reference: string, credentials?: Credentials) => Promise<void>;
  /** Creates and starts a container of an image that is already pulled; resolves to its id. */
  readonly run: (name: string, image: string, config?: object) => Promise<string>;
  /** Creates a container without starting it; resolves to its id. */
  readonly create: (name: string, image: string, config?: object) => Promise<string>;
  /** Writes the files of a tar archive into a folder of a container, as `docker cp` and compose do. */
  readonly putFiles: (idOrName: string, folder: string, archive: Uint8Array) => Promise<void>;
  /** `GET /containers/{id}/json`; undefined for a missing container. */
  readonly inspect: (idOrName: string) => Promise<Inspected | undefined>;
  /** Resolves with the container once it passes; throws after 10 s. */
  readonly waitFor: (
    idOrName: string,
    passes: (container: Inspected) => boolean,
    timeoutMs?: number,
  ) => Promise<Inspected>;
  /**
   * Removes all containers, networks, volumes and images, except for those of the engine itself. Throws `GhostsLeft` if
   * the engine lists containers that do not exist, as Docker sometimes does after its own crash.
   */
  readonly clear: () => Promise<void>;
};

export type Credentials = { readonly username: string; readonly password: string };

export type EngineReply = { readonly status: number; readonly body: unknown };

/** The fields that tests use most; the others exist too. */
export type Inspected = {
  readonly Id: string;
  readonly Name: string;
  readonly Image: string;
  readonly Created: string;
  readonly RestartCount: number;
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly StartedAt: string;
    readonly Health?: { readonly Status: string };
  };
  readonly Config: { readonly Image: string; readonly Labels: Readonly<Record<string, string>> } & Open;
  readonly HostConfig: { readonly RestartPolicy: { readonly Name: string } } & Open;
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, Open>> } & Open;
  readonly Mounts: readonly Open[];
};

type Open = { readonly [field: string]: unknown };

type Headers = Readonly<Record<string, string>>;

/** The engine lists containers that do not exist; only its next start removes them. */
export class GhostsLeft extends Error {}

/** A client of the engine behind a unix socket. */
export function engineClient(socket: string): EngineClient {
  const call = async (method: string, path: string, body?: object, headers: Headers = {}): Promise<EngineReply> => {
    const reply = await httpRequest({
      method,
      url: `http://engine${path}`,
      socketPath: socket,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: reply.status, body: parse(reply.body.toString()) };
  };
  const must = async (method: string, path: string, body?: object, headers?: Headers): Promise<unknown> => {
    const reply = await call(method, path, body, headers);
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const list = async (path: string): Promise<readonly Open[]> => (await must('GET', path)) as readonly Open[];

  const create = async (name: string, image: string, config: object = {}): Promise<string> => {
    const created = await must('POST', `/containers/create?name=${name}`, { Image: image, ...config });
    return (created as { Id: string }).Id;
  };
  const inspect = async (idOrName: string): Promise<Inspected | undefined> => {
    const reply = await call('GET', `/containers/${idOrName}/json`);
    return reply.status === 200 ? (reply.body as Inspected) : undefined;
  };

  return {
    call,
    create,
    inspect,
    putFiles: async (idOrName, folder, archive) => {
      const url = `http://engine/containers/${idOrName}/archive?path=${encodeURIComponent(folder)}`;
      const headers = { 'content-type': 'application/x-tar' };
      const { status, body } = await httpRequest({ method: 'PUT', url, socketPath: socket, headers, body: archive });
      if (status !== 200) throw new Error(`PUT ${url}: ${status} ${body.toString()}`);
    },
    pull: async (reference, credentials) => {
      const auth = credentials && paddedBase64Url(JSON.stringify(credentials));
      const path = `/images/create?fromImage=${encodeURIComponent(reference)}`;
      const body = await must('POST', path, undefined, auth === undefined ? {} : { 'x-registry-auth': auth });
      const stream = typeof body === 'string' ? body : JSON.stringify(body);
      const error = /"error":"((?:[^"\\]|\\.)*)"/.exec(stream)?.[1];
      if (error !== undefined) throw new Error(`pull of ${reference}: ${error}`);
    },
    run: async (name, image, config) => {
      const id = await create(name, image, config);
      await must('POST', `/containers/${id}/start`);
      return id;
    },
    waitFor: async (idOrName, passes, timeoutMs = 10_000) => {
      const deadlineMs = performance.now() + timeoutMs;
      for (;;) {
        const container = await inspect(idOrName);
        if (container && passes(container)) return container;
        if (performance.now() > deadlineMs)
          throw new Error(
            `"${idOrName}" did not reach the expected state in time: ${JSON.stringify(container?.State)}`,
          );
        await sleep(20);
      }
    },
    clear: async () => {
      // Podman keeps a container until its dependents are removed, and a busy Docker refuses a removal for a while.
      const deadlineMs = performance.now() + 60_000;
      for (let round = 0; ; round += 1) {
        const left = await list('/containers/json?all=1');
        if (left.length === 0) break;
        const answers: EngineReply[] = [];
        for (const { Id } of left) answers.push(await call('DELETE', `/containers/${String(Id)}?force=1&v=1`));
        if (round > 20 && answers.every(({ status }) => status === 404))
          throw new GhostsLeft(`Cannot clear the engine: ${JSON.stringify(left)}`);
        if (performance.now() > deadlineMs)
          throw new Error(`Cannot clear the engine: ${JSON.stringify([left, answers])}`);
        if (round > 2) await sleep(200);
      }
      for (const { Id, Name } of await list('/networks'))
        if (!['bridge', 'host', 'none'].includes(String(Name))) await call('DELETE', `/networks/${String(Id)}`);
      const volumes = (await must('GET', '/volumes')) as { Volumes: readonly Open[] | null };
      for (const { Name } of volumes.Volumes ?? []) await call('DELETE', `/volumes/${String(Name)}?force=1`);
      for (const { Id } of await list('/images/json?all=1')) await call('DELETE', `/images/${String(Id)}?force=1`);
    },
  };
}

/** Docker 20.10 treats an unpadded value as no credentials. */
function paddedBase64Url(text: string): string {
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
