import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The id of the container that this process runs in, 64 hex digits. Undefined outside of a container. The engine mounts
 * `/etc/hostname` and similar files from a folder with that name (Docker `…/containers/<id>/hostname`, Podman
 * `…/<id>/userdata/hostname`). With cgroups of version 1 it is also in the cgroup's path. See
 * https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html.
 */
export function ownContainerId(procDir = '/proc'): string | undefined {
  for (const line of read(join(procDir, 'self/mountinfo')).split('\n')) {
    const [, , , root = '', mountPoint = ''] = line.split(' ');
    if (!/^\/etc\/(hostname|hosts|resolv\.conf)$/.test(mountPoint)) continue;
    const id = /\/([0-9a-f]{64})\//.exec(root)?.[1];
    if (id !== undefined) return id;
  }
  return /[/-]([0-9a-f]{64})(?:\.scope)?$/m.exec(read(join(procDir, 'self/cgroup')))?.[1];
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
