import { readFileSync, readlinkSync } from 'node:fs';
import { statfs, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Instance, Clock, Log } from '../../domain/outside/outside.ts';
import { codeOf } from '../../domain/text/errors.ts';
import { connect } from 'node:net';

type InstanceOptions = {
  /** The container of this process, if known. It distinguishes own restarts from other instances. */
  readonly containerId?: string | undefined;
  /** The process ids of this process and its parent, in its own namespace. */
  readonly pids?: readonly [number, number];
  /** The kernel's and the system's folders; tests use others. */
  readonly procDir?: string;
  readonly machineIdFile?: string;
};

/** Identity of this process, from the kernel: https://man7.org/linux/man-pages/man5/proc.5.html */
export function createInstance(options: InstanceOptions = {}): Instance {
  const { containerId, procDir = '/proc', machineIdFile = '/etc/machine-id' } = options;
  const { pids = [process.pid, process.ppid] } = options;
  const self: Identity = {
    machine: (readText(machineIdFile) || hostname()).replaceAll(/[^A-Za-z0-9.-]/g, '_').slice(0, 63),
    boot: readText(join(procDir, 'sys/kernel/random/boot_id')).slice(0, 36),
    pidNamespace: pidNamespace(procDir),
    pid: String(process.pid),
    startTime: startTimeOf(procDir, process.pid) ?? '',
    container: containerId?.slice(0, 32) ?? '',
  };
  const owner = format(self);
  return {
    owner,
    containerId,
    // PID 1 is this process or its ancestor (a small init or a shell). A process of `docker exec` has the
    // parent 0.
    isMainProcess: containerId !== undefined && pids.includes(1),
    transactions: new Set(),
    ownerState(other) {
      if (other === owner) return 'self';
      const identity = parse(other);
      return identity ? stateOf(identity, self, procDir) : 'unknown';
    },
  };
}

/**
 * The free bytes of the disk with a folder of the engine. Inside a container of the engine that folder is not seen, but
 * the container's own files are on the same disk.
 */
export async function freeBytes(folder: string, containerId: string | undefined): Promise<number | undefined> {
  const seen = containerId === undefined ? folder : '/';
  return statfs(seen).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
}

/** Unknown parts are empty: `boot`, `pidNamespace` and `startTime` outside of Linux. */
type Identity = {
  readonly machine: string;
  readonly boot: string;
  readonly pidNamespace: string;
  readonly pid: string;
  /** Ticks since the boot. A process id is reused, but not with the same start time. */
  readonly startTime: string;
  readonly container: string;
};

const kind = 'process';

/** At most 180 characters. */
function format({ machine, boot, pidNamespace, pid, startTime, container }: Identity): string {
  return [kind, machine, boot, pidNamespace, pid, startTime, container].join(':');
}

function parse(owner: string): Identity | undefined {
  const [itsKind, machine = '', boot = '', pidNamespace = '', pid = '', startTime = '', container = ''] =
    owner.split(':');
  if (itsKind !== kind || machine === '' || !/^[1-9]\d{0,9}$/.test(pid)) return undefined;
  return { machine, boot, pidNamespace, pid, startTime, container };
}

type State = ReturnType<Instance['ownerState']>;

/** A process of an earlier boot of the machine, or of an earlier run of the container, is dead. */
function stateOf(other: Identity, self: Identity, procDir: string): State {
  const sameContainer = other.container !== '' && other.container === self.container;
  const sameMachine = other.machine === self.machine;
  if (other.boot !== self.boot) return sameContainer || sameMachine ? 'dead' : 'unknown';
  if (self.boot === '') return sameMachine ? stateByPid(other.pid) : 'unknown';
  if (other.pidNamespace !== self.pidNamespace) return sameContainer ? 'dead' : 'unknown';
  const startTime = startTimeOf(procDir, Number(other.pid));
  if (startTime === undefined) return stateByPid(other.pid);
  return startTime === other.startTime ? 'alive' : 'dead';
}

/** Without a start time, a process with this id may be another process. */
function stateByPid(pid: string): State {
  try {
    process.kill(Number(pid), 0);
    return 'unknown';
  } catch (error) {
    return codeOf(error) === 'ESRCH' ? 'dead' : 'unknown';
  }
}

/** Field 22 of `stat`. Undefined if the process does not exist or is not visible. A zombie (field 3) has ended. */
function startTimeOf(procDir: string, pid: number): string | undefined {
  const stat = readText(join(procDir, String(pid), 'stat'));
  // The second field is the program's name in parentheses, which may contain any text.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat === '') return undefined;
  return state === 'Z' || state === 'X' ? 'ended' : rest[startTimeAfterState];
}

const startTimeAfterState = 22 - 3 - 1;

/**
 * The id of the container that this process runs in, 64 hex digits. Undefined outside of a container. The engine mounts
 * `/etc/hostname` and similar files from a folder with that name (Docker `…/containers/<id>/hostname`, Podman
 * `…/<id>/userdata/hostname`). With cgroups of version 1 it is also in the cgroup's path. See
 * https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html.
 */
export function ownContainerId(procDir = '/proc'): string | undefined {
  for (const line of readText(join(procDir, 'self/mountinfo')).split('\n')) {
    const [, , , root = '', mountPoint = ''] = line.split(' ');
    if (!/^\/etc\/(hostname|hosts|resolv\.conf)$/.test(mountPoint)) continue;
    const id = /\/([0-9a-f]{64})\//.exec(root)?.[1];
    if (id !== undefined) return id;
  }
  return /[/-]([0-9a-f]{64})(?:\.scope)?$/m.exec(readText(join(procDir, 'self/cgroup')))?.[1];
}

function pidNamespace(procDir: string): string {
  try {
    return /\d+/.exec(readlinkSync(join(procDir, 'self/ns/pid')))?.[0] ?? '';
  } catch {
    return '';
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

type MountedSockets = {
  /** Aborts when one of the sockets has died for good. */
  readonly signal: AbortSignal;
  readonly close: () => void;
};

/**
 * Watches the sockets of engines that are mounted into our container as single files. An engine that is upgraded, or
 * restarted with live-restore, makes its socket anew, and the mount still shows the removed file: nothing in this
 * container can reach the engine again. A restart of the container mounts the new one.
 */
export function watchMountedSockets(
  paths: readonly string[],
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'error'> },
): MountedSockets {
  const closing = new AbortController();
  const lost = new AbortController();

  async function watch(): Promise<void> {
    for (;;) {
      await clock.sleep(lookMs, closing.signal);
      for (const path of paths) {
        if (!(await isDead(path))) continue;
        log.error(
          `The engine has removed its socket that is mounted at ${path}: Upkeep ends in ${leaveMs / 1000}s, so that the restart policy of its container mounts the new one`,
          { remedy: 'Mount the folder of the socket instead: docs/installing.md' },
        );
        await clock.sleep(leaveMs, closing.signal);
        return lost.abort();
      }
    }
  }

  void watch().catch(() => undefined);
  return { signal: lost.signal, close: () => closing.abort() };
}

/** A look costs one call of the kernel. */
const lookMs = 5_000;

/** An engine that is back within this time still reads the line. It loses those of a container that has ended meanwhile. */
const leaveMs = 15_000;

/**
 * Whether the file has been removed and nobody listens at it any more. An engine whose file someone has removed still
 * listens.
 */
async function isDead(path: string): Promise<boolean> {
  const links = await stat(path).then(
    ({ nlink }) => nlink,
    () => undefined,
  );
  return links === 0 && (await isRefused(path));
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (refused: boolean) => {
      socket.destroy();
      resolve(refused);
    };
    socket.once('connect', () => end(false));
    socket.once('error', (error) => end('code' in error && error.code === 'ECONNREFUSED'));
    socket.setTimeout(2_000, () => end(false));
  });
}
