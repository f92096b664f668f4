import type { CallOutcome, EngineEvent } from '../../../src/domain/outside/engine.ts';
import type { Container, ContainerConfig, ImageConfig } from '../../../src/domain/container/container.ts';
import type { Clock, Engine } from '../../../src/domain/outside/outside.ts';
import type { Platform } from '../../../src/domain/image/platform.ts';

/** Fixture of the rows, without the engine under test. */
export type EngineFixture = {
  readonly engine: Engine;
  readonly clock: Clock;
  /** An image that runs this program; the engine has it already. */
  readonly image: (program: Program) => string;
  /** Pushes an image to a registry from which the engine can pull; returns its reference there. */
  readonly publish: (tag: string, image: PublishedImage) => Promise<Published>;
  /** The same engine with its own connections, which have agreed on the version: the next call is sent at once. */
  readonly connect: () => Promise<Engine>;
  /** Resolves to the network's id. */
  readonly addNetwork: (name: string, subnet?: string) => Promise<string>;
  /** Names. */
  readonly volumes: () => Promise<readonly string[]>;
  /** Writes a file into a container as compose does: from an archive with whole seconds. */
  readonly placeFile: (
    id: string,
    path: string,
    file: { readonly content: string; readonly mode?: number },
  ) => Promise<void>;
  /** Removes all stopped containers, as `docker container prune` does. */
  readonly prune: () => Promise<void>;
  /** Removes all networks without a running container, as `docker network prune` does. */
  readonly pruneNetworks: () => Promise<void>;
  /** Removes containers, networks and volumes; the images of `image()` stay. */
  readonly reset: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * `service` runs until it is told to stop; `deaf` must be killed; `lingering` writes "listening" to its
 * output and takes a second to stop; `crash` ends at once with code 3; `short` ends well after 300 ms;
 * `talkative` writes "one" and "three" to its output, "two" to its errors; `missing` does not exist;
 * `healthy` and `sick` have a health check; `defaults` is a service whose image sets all that it can;
 * `storing` is a service with a volume; `silent` has no command at all; `writing` writes `/tmp/log`.
 */
export type Program =
  | 'service'
  | 'deaf'
  | 'lingering'
  | 'crash'
  | 'short'
  | 'talkative'
  | 'missing'
  | 'healthy'
  | 'sick'
  | 'defaults'
  | 'storing'
  | 'silent'
  | 'writing';

/** Settings of the images, beside the command; the same for every engine. */
export const programConfigs: Readonly<Record<Program, ImageConfig>> = {
  service: {},
  deaf: {},
  lingering: {},
  crash: {},
  short: {},
  talkative: {},
  missing: {},
  healthy: { Healthcheck: { Test: ['CMD', 'true'], Interval: 100_000_000, Retries: 1 } },
  sick: { Healthcheck: { Test: ['CMD-SHELL', 'echo sick; exit 1'], Interval: 100_000_000, Retries: 2 } },
  defaults: {
    Env: ['PATH=/bin', 'FROM_IMAGE=1', 'BOTH=image'],
    Labels: { from: 'image', both: 'image' },
    ExposedPorts: { '8080/tcp': {} },
    WorkingDir: '/tmp',
    User: 'root',
    StopSignal: 'SIGTERM',
  },
  storing: { Volumes: { '/data': {} } },
  silent: {},
  writing: {},
};

export type PublishedImage = {
  readonly program?: Program;
  /** Changes the content. */
  readonly version?: string;
  /** Pushes an index of these images. */
  readonly platforms?: readonly Platform[];
  /** The manifest exists, a layer is missing. */
  readonly broken?: boolean;
};

/** `repository` with its registry; `reference` is `repository:tag`. */
export type Published = { readonly repository: string; readonly reference: string; readonly digest: string };

/** Returns the fixture after the setup of the suite. */
export type GetFixture = () => EngineFixture;

export type Body = Partial<ContainerConfig> & {
  readonly HostConfig?: object;
  readonly NetworkingConfig?: { readonly EndpointsConfig: Readonly<Record<string, object>> };
};

/** Creates through the engine under test; throws unless it succeeds. */
export async function create(
  { engine, image }: EngineFixture,
  name: string,
  program: Program,
  body: Body = {},
): Promise<string> {
  const outcome = await engine.createContainer(name, { body: { Image: image(program), ...body }, laterEndpoints: [] });
  if (outcome.kind !== 'done') throw new Error(`create of "${name}": ${JSON.stringify(outcome)}`);
  return outcome.id;
}

/** Creates and starts. */
export async function run(fixture: EngineFixture, name: string, program: Program, body: Body = {}): Promise<string> {
  const id = await create(fixture, name, program, body);
  const outcome = await fixture.engine.startContainer(id);
  if (outcome.kind !== 'done') throw new Error(`start of "${name}": ${JSON.stringify(outcome)}`);
  return id;
}

export async function inspect({ engine }: EngineFixture, idOrName: string): Promise<Container> {
  const container = await engine.inspectContainer(idOrName);
  if (container === undefined) throw new Error(`there is no container "${idOrName}"`);
  return container;
}

/** Waits until the question has an answer, by the fixture's clock. */
export async function eventually<T>(
  { clock }: Pick<EngineFixture, 'clock'>,
  ask: () => Promise<T | undefined | false>,
  timeoutMs = 10_000,
): Promise<T> {
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (clock.monotonicMs() > deadlineMs) throw new Error('it did not happen in time');
    await clock.sleep(20);
  }
}

/** Waits until a `lingering` program handles SIGTERM. */
export async function untilItListens(fixture: EngineFixture, id: string): Promise<void> {
  await eventually(
    fixture,
    async () => (await fixture.engine.containerLogs(id, { tail: 1 })).includes('listening'),
    20_000,
  );
}

export async function untilStatus(fixture: EngineFixture, id: string, status: string): Promise<Container> {
  return eventually(fixture, async () => {
    const container = await inspect(fixture, id);
    return container.state.status === status && container;
  });
}

/** Listens from now on; `stop()` returns the received events. */
export async function listen(
  engine: Engine,
): Promise<{ readonly heard: EngineEvent[]; readonly stop: () => Promise<EngineEvent[]> }> {
  const abort = new AbortController();
  const heard: EngineEvent[] = [];
  let onConnected = () => {};
  const connected = new Promise<void>((resolve) => (onConnected = resolve));
  const listening = (async () => {
    for await (const event of engine.events(abort.signal)) {
      heard.push(event);
      if (event.kind === 'connected') onConnected();
    }
  })();
  await connected;
  return {
    heard,
    stop: async () => {
      abort.abort();
      await listening;
      return heard;
    },
  };
}

export function statusOf(outcome: CallOutcome | { readonly kind: string }): string {
  return outcome.kind === 'refused' && 'status' in outcome ? `refused ${outcome.status}` : outcome.kind;
}
