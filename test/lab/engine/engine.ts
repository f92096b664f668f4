import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { startDaemon } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { engineClient } from './engine-client.ts';
import type { EngineClient } from './engine-client.ts';
import { isPodman, startPodman } from './podman.ts';
import { killEngineProcesses, unmountBelow } from '../remains.ts';

export type EngineOptions = {
  /** At least two letters; unique among the engines of this lab. */
  readonly name: string;
  /** More arguments of dockerd, such as `--live-restore`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Base URL of a pull-through mirror of Docker Hub. */
  readonly hubMirror?: string;
  /** Its data lie on a disk of this size, in memory. */
  readonly dataMiB?: number;
  /** An own bridge instead of docker0 and no iptables rules: for every engine but the first, which must not lose its own. */
  readonly beside?: boolean;
  /** A command that dockerd is started by, and that becomes it: `nsenter` into another network, for example. */
  readonly startedBy?: readonly [string, ...string[]];
};

/** A dockerd with its own data, socket, containerd, cgroup and, beside the first one, bridge. */
export type LabEngine = EngineClient & {
  readonly name: string;
  readonly dir: string;
  readonly socket: string;
  /** Of dockerd, now: it changes with `start()`. */
  readonly pid: () => number;
  /** SIGKILL to dockerd; its containers live on. */
  readonly kill: () => Promise<void>;
  /** SIGTERM to dockerd: containers are stopped unless it runs with `--live-restore`. */
  readonly stop: () => Promise<void>;
  /** Everything dies at once: dockerd, containerd, shims, containers; what lived in memory is lost. */
  readonly powerCut: () => Promise<void>;
  /** Again, after `kill()`, `stop()` or `powerCut()`, with the same arguments unless others are given. */
  readonly start: (args?: readonly string[]) => Promise<void>;
  /** Ends dockerd, its containers and their shims at once, and removes all it left. */
  readonly remove: () => Promise<void>;
};

let bridges = 0;

/** Resolves when the engine answers: 0.2 to 1 s. `labDir` must be inside the lab's namespaces. */
export function startEngine(labDir: string, options: EngineOptions): Promise<LabEngine> {
  return isPodman ? startPodman(labDir, options) : startDocker(labDir, options);
}

async function startDocker(labDir: string, options: EngineOptions): Promise<LabEngine> {
  const dir = join(labDir, options.name);
  const socket = join(dir, 'docker.sock');
  const cgroup = `${basename(labDir)}-${options.name}`;
  const client = engineClient(socket);
  const bridge = options.beside ? addBridge() : undefined;
  let args = options.args ?? [];
  let daemon: Daemon | undefined;

  const start = async (): Promise<void> => {
    rmSync(join(dir, 'pid'), { force: true });
    daemon = await startDaemon({
      command: [
        ...(options.startedBy ?? (['env'] as const)),
        'dockerd',
        ...commonArguments(dir, socket, cgroup, options),
        ...bridgeArguments(bridge),
        ...args,
      ],
      logFile: join(dir, 'dockerd.log'),
      env: { ...options.env },
      ready: async () => (await client.call('GET', '/_ping')).status === 200,
      // One that has hundreds of containers to start again answers only then.
      timeoutMs: 600_000,
    });
  };
  const powerCut = async (): Promise<void> => {
    await daemon?.kill();
    await killEngineProcesses(dir, cgroup);
    unmountBelow(dir);
    rmSync(join(dir, 'x'), { recursive: true, force: true });
  };
  mkdirSync(join(dir, 'data'), { recursive: true });
  if (options.dataMiB !== undefined)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.dataMiB}m`, 'tmpfs', join(dir, 'data')]);
  await start();
  return {
    ...client,
    name: options.name,
    dir,
    socket,
    pid: () => daemon?.pid ?? 0,
    kill: async () => daemon?.kill(),
    stop: async () => daemon?.stop(),
    start: async (otherArgs) => {
      args = otherArgs ?? args;
      await start();
    },
    powerCut,
    remove: async () => {
      await powerCut();
      if (bridge) execFileSync('ip', ['link', 'del', bridge.name]);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}

type Bridge = { readonly name: string; readonly address: string };

function addBridge(): Bridge {
  bridges += 1;
  const bridge = {
    name: `upk${process.pid}${bridges}`.slice(0, 15),
    address: `10.${90 + (process.pid % 100)}.${bridges}.1/24`,
  };
  execFileSync('ip', ['link', 'add', bridge.name, 'type', 'bridge']);
  execFileSync('ip', ['addr', 'add', bridge.address, 'dev', bridge.name]);
  execFileSync('ip', ['link', 'set', bridge.name, 'up']);
  return bridge;
}

/** An engine that manages iptables, or is told `--bridge=none`, takes down the network of another one beside it. */
function bridgeArguments(bridge: Bridge | undefined): string[] {
  return bridge ? ['--bridge', bridge.name, '--iptables=false', '--ip-masq=false'] : [];
}

function commonArguments(dir: string, socket: string, cgroup: string, options: EngineOptions): string[] {
  return [
    ...['--data-root', join(dir, 'data'), '--exec-root', join(dir, 'x'), '--pidfile', join(dir, 'pid')],
    ...['--host', `unix://${socket}`, '--cgroup-parent', `/${cgroup}`],
    ...['--containerd-namespace', options.name, '--containerd-plugins-namespace', `${options.name}-plugins`],
    ...['--insecure-registry', '127.0.0.0/8', '--shutdown-timeout', '1'],
    ...(options.hubMirror === undefined ? [] : ['--registry-mirror', options.hubMirror]),
  ];
}
