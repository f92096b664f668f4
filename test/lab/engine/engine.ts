import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { engineClient, GhostsLeft } from './engine-client.ts';
import type { EngineClient } from './engine-client.ts';
import { isPodman, startPodman } from './podman.ts';
import { killEngineProcesses, removeWithMounts, unmountBelow } from '../remains.ts';

export type EngineOptions = {
  /** At least two letters; unique among the engines of this lab. */
  readonly name: string;
  /** More arguments of dockerd, for example `--live-restore`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Base URL of a pull-through mirror of Docker Hub. */
  readonly hubMirror?: string;
  /** Puts its data on a disk of this size, in memory. */
  readonly dataMiB?: number;
  /**
   * Puts its data on an ext4 disk in a file, so that a power cut loses all that is not synced. `apart`: volumes are on a
   * second one.
   */
  readonly disk?: 'one' | 'apart' | undefined;
  /**
   * An own bridge instead of docker0 and no iptables rules: for every engine except for the first, which must keep its
   * rules.
   */
  readonly beside?: boolean;
  /** A command that starts the engine and is replaced by it: `nsenter` into another network, for example. */
  readonly startedBy?: readonly [string, ...string[]];
};

/** A dockerd with its own data, socket, containerd, cgroup and, except for the first one, bridge. */
export type LabEngine = EngineClient & {
  readonly name: string;
  readonly dir: string;
  readonly socket: string;
  /** The current pid of dockerd: it changes with `start()`. */
  readonly pid: () => number;
  /** SIGKILL to dockerd; its containers continue. */
  readonly kill: () => Promise<void>;
  /** SIGTERM to dockerd: containers are stopped unless it runs with `--live-restore`. */
  readonly stop: () => Promise<void>;
  /** Everything is killed at once: dockerd, containerd, shims, containers; data in memory are lost. */
  readonly powerCut: () => Promise<void>;
  /** With own disks: syncs them. */
  readonly settle?: () => void;
  /** Starts it again after `kill()`, `stop()` or `powerCut()`, by default with the same arguments. */
  readonly start: (args?: readonly string[]) => Promise<void>;
  /** Kills dockerd, its containers and their shims at once, and removes their files. */
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
      // An engine that has to start hundreds of containers answers only afterwards.
      timeoutMs: 600_000,
    });
  };
  const powerCut = async (): Promise<void> => {
    await daemon?.kill();
    await killEngineProcesses(dir, cgroup);
    const cut = disks.map(copyDisk);
    unmountBelow(dir);
    cut.forEach(mountDisk);
    await removeWithMounts(join(dir, 'x'));
  };
  const kill = async (): Promise<void> => {
    await daemon?.kill();
    await containerdGone(dir);
  };
  mkdirSync(join(dir, 'data'), { recursive: true });
  if (options.dataMiB !== undefined)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.dataMiB}m`, 'tmpfs', join(dir, 'data')]);
  const disks = disksOf(dir, options.disk);
  disks.map(makeDisk).forEach(mountDisk);
  await start();
  return {
    ...client,
    ...(disks.length > 0 && { settle: () => void execFileSync('sync', ['-f', ...disks.map(({ folder }) => folder)]) }),
    name: options.name,
    dir,
    socket,
    pid: () => daemon?.pid ?? 0,
    kill,
    clear: async () => {
      try {
        await client.clear();
      } catch (error) {
        if (!(error instanceof GhostsLeft)) throw error;
        await kill();
        await start();
        await client.clear();
      }
    },
    stop: async () => daemon?.stop(),
    start: async (otherArgs) => {
      args = otherArgs ?? args;
      await start();
    },
    powerCut,
    remove: async () => {
      disks.splice(0);
      await powerCut();
      if (bridge) execFileSync('ip', ['link', 'del', bridge.name]);
      await removeWithMounts(dir);
    },
  };
}

type Disk = { readonly file: string; readonly folder: string };

function disksOf(dir: string, kind: EngineOptions['disk']): Disk[] {
  const folders = { one: ['data'], apart: ['data', 'data/volumes'] };
  return kind === undefined
    ? []
    : folders[kind].map((part, index) => ({ file: join(dir, `disk${index}`), folder: join(dir, part) }));
}

function makeDisk(disk: Disk): Disk {
  execFileSync('truncate', ['--size', '1G', disk.file]);
  execFileSync('mkfs.ext4', ['-q', '-F', disk.file]);
  return disk;
}

/** The long time between commits leaves what no program syncs in memory. */
function mountDisk({ file, folder }: Disk): void {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-o', 'loop,commit=300', file, folder]);
}

/** What a disk has received, without what only memory has. */
function copyDisk({ file, folder }: Disk): Disk {
  execFileSync('cp', ['--sparse=always', file, `${file}.cut`]);
  renameSync(`${file}.cut`, file);
  return { file, folder };
}

/**
 * A dockerd's containerd dies with it, a moment later on a busy machine. A new dockerd treats a dying containerd as
 * alive, waits for its answer, and gives up.
 */
async function containerdGone(dir: string): Promise<void> {
  const pidFile = join(dir, 'x/containerd/containerd.pid');
  if (!existsSync(pidFile)) return;
  const process = `/proc/${readFileSync(pidFile, 'utf8').trim()}`;
  const untilMs = performance.now() + 10_000;
  while (existsSync(process) && performance.now() < untilMs) await sleep(10);
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

/** An engine that manages iptables, or has `--bridge=none`, breaks the network of another one on the same host. */
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
