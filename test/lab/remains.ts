import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * SIGKILL to the shims and containers of an engine whose dockerd is dead. They are found by their command line and
 * cgroup, not by a stored pid, because pids are reused.
 */
export async function killEngineProcesses(dir: string, cgroup: string): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    const pids = [...shims(dir), ...cgroupProcesses(cgroup)];
    if (pids.length === 0) return;
    for (const pid of pids) tryKill(pid);
    await sleep(10);
  }
}

/** Removes a folder with the mounts below it, including new mounts by a helper of a dead dockerd. */
export async function removeWithMounts(dir: string): Promise<void> {
  for (let round = 1; ; round += 1) {
    unmountBelow(dir);
    try {
      return rmSync(dir, { recursive: true, force: true });
    } catch (error) {
      if (round === 100) throw error;
      await sleep(50);
    }
  }
}

/** Unmounts everything under a folder. */
export function unmountBelow(dir: string): void {
  const points = readLines('/proc/self/mountinfo')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${dir}/`))
    .sort()
    .toReversed();
  if (points.length > 0) execFileSync('umount', ['--lazy', ...points], { stdio: 'ignore' });
}

function shims(dir: string): number[] {
  const isOurs = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`${dir}/x/containerd`);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOurs(name))
    .map(Number);
}

function cgroupProcesses(cgroup: string): number[] {
  const root = '/sys/fs/cgroup';
  const folders = ['', ...readdirSync(root)].map((hierarchy) => join(root, hierarchy, cgroup)).filter(existsSync);
  const pids = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap((entry) => readLines(join(folder, entry.name, 'cgroup.procs'))),
  );
  // A process of another pid namespace shows as 0.
  return [...new Set(pids.map(Number))].filter((pid) => pid > 1 && pid !== process.pid);
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
