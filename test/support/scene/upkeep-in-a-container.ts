import { fileURLToPath } from 'node:url';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import type { ImageConfig, ImageSpec } from '../../lab/registry/image.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage, type Pushed } from '../../lab/registry/push.ts';
import { tar, type TarEntry } from '../../lab/registry/tar.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Node and the build are mounted into the container, so that the image need not contain them and is made quickly. */
export const nodeMounts = ['/usr:/usr:ro', '/usr/lib:/lib:ro', '/usr/lib64:/lib64:ro', `${root}:/app:ro`];

/** An image whose command is Upkeep; with `config`, something else. */
export function upkeepImage(version: string, config: ImageConfig = {}): ImageSpec {
  return {
    config: {
      Entrypoint: ['/usr/bin/node', '/app/dist/main.js'],
      Cmd: ['run'],
      Env: ['PATH=/usr/bin:/bin', `APP_VERSION=${version}`],
      Labels: { 'org.opencontainers.image.version': version },
      ...config,
    },
  };
}

/**
 * An image that forwards each connection: from port 2375, or `LISTEN`, to the socket of the engine at its usual path, or
 * `TARGET`, which may also be a port or `host:port`. It begins to listen after `DELAY_MS`.
 */
export function socketProxyImage(version: string, config: ImageConfig = {}): ImageSpec {
  const program = [
    `const { connect, createServer } = require('net')`,
    `const at = process.env.LISTEN || '2375'`,
    `require('fs').rmSync(at, { force: true })`,
    `process.on('SIGTERM', () => process.exit(0))`,
    `const server = createServer((client) => {
      const target = process.env.TARGET || '/var/run/docker.sock';
      const [host, port] = target.split(':');
      const engine = port ? connect(Number(port), host) : connect(target);
      for (const [one, other] of [[client, engine], [engine, client]])
        one.on('error', () => other.destroy()).on('close', () => other.destroy()).pipe(other);
    })`,
    `setTimeout(() => server.listen(at), Number(process.env.DELAY_MS || 0))`,
  ].join(';\n');
  return {
    config: {
      Entrypoint: ['/usr/bin/node', '-e', program],
      Env: ['PATH=/usr/bin:/bin', `APP_VERSION=${version}`],
      ExposedPorts: { '2375/tcp': {} },
      Labels: { 'org.opencontainers.image.version': version },
      ...config,
    },
  };
}

export type InContainer = {
  readonly image: string;
  readonly old: Pushed;
  readonly next: Pushed;
  readonly id: string;
};

/** Environment variable of all processes of this Upkeep; its value is the repository. */
export const markVariable = 'KEPT_MARK';

export type StartOptions = {
  readonly socket: string;
  readonly next: ImageSpec;
  readonly repository: string;
  /** `NAME=value` */
  readonly env?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Written into the container before its start, as compose does with secrets. */
  readonly files?: readonly TarEntry[];
};

/**
 * Starts Upkeep as `upkeep`, on an image whose tag has moved; it updates itself at once. `socket`: the path of the
 * engine's socket for it.
 */
export async function startInContainer(
  { registry }: Lab,
  engine: EngineClient,
  { socket, next, repository, env = [], labels = {}, files = [] }: StartOptions,
): Promise<InContainer> {
  const image = `${registry.host}/${repository}:stable`;
  const old = await pushImage(registry, repository, 'stable', upkeepImage('v1'));
  await engine.pull(image);
  const pushed = await pushImage(registry, repository, 'stable', next);
  const id = await engine.create('upkeep', image, {
    Cmd: ['run', '--update-on-start', '--health-window', '1s', '--log-format', 'logfmt'],
    Env: [`${markVariable}=${repository}`, 'UPKEEP_INTERVAL=1h', ...env],
    Labels: { 'com.example.kept': 'yes', ...labels },
    StopTimeout: 1,
    HostConfig: {
      // The registry of the lab is on a loopback address.
      NetworkMode: 'host',
      Binds: [...nodeMounts, `${socket}:/var/run/docker.sock`, 'state:/state'],
      RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 },
    },
  });
  if (files.length > 0) await engine.putFiles(id, '/', tar(files));
  await engine.call('POST', `/containers/${id}/start`);
  return { image, old, next: pushed, id };
}

/** Standard output and error of a container, without the engine's framing. */
export async function logOf(engine: EngineClient, name: string): Promise<string> {
  return String((await engine.call('GET', `/containers/${name}/logs?stdout=1&stderr=1`)).body);
}
