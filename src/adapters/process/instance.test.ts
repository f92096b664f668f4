import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createInstance, ownContainerId } from './instance.ts';

const nowhere = { procDir: '/nowhere', machineIdFile: '/nowhere/machine-id' };
const children: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe.skipIf(!existsSync('/proc/self/stat'))('createInstance() on Linux', () => {
  const self = createInstance();
  const [kind, machine, boot, namespace, pid, startTime] = self.owner.split(':');

  test('knows itself, also when asked twice', () => {
    expect(createInstance().ownerState(self.owner)).toBe('self');
    expect(self.owner).toMatch(/^process:[\w.-]+:[0-9a-f-]{36}:\d+:\d+:\d+:$/);
    expect(createInstance({ containerId: 'f'.repeat(64) }).owner.length).toBeLessThanOrEqual(200);
  });

  test('sees that another process lives, and that it has ended', async () => {
    const child = spawn('sleep', ['60']);
    children.push(child);
    await once(child, 'spawn');
    const owner = ownerOf(child.pid ?? 0);
    expect(self.ownerState(owner)).toBe('alive');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(self.ownerState(owner)).toBe('dead');
  });

  test('is not taken in by a process that was given the pid of a dead one', () => {
    expect(self.ownerState(named({ startTime: '1' }))).toBe('dead');
  });

  test('takes a program name with parentheses and spaces for what it is', async () => {
    const child = spawn('bash', ['-c', "printf 'a) Z (b' > /proc/self/comm; echo ready; read"]);
    children.push(child);
    await once(child.stdout, 'data');
    expect(self.ownerState(ownerOf(child.pid ?? 0))).toBe('alive');
  });

  test('buries what was before the last boot of this machine', () => {
    expect(self.ownerState(named({ boot: '00000000-0000-0000-0000-000000000000' }))).toBe('dead');
  });

  test('cannot tell about another machine, or another namespace of pids', () => {
    expect(self.ownerState(named({ machine: 'other', boot: '00000000-0000-0000-0000-000000000000' }))).toBe('unknown');
    expect(self.ownerState(named({ namespace: '1' }))).toBe('unknown');
  });

  test('knows an earlier life of its own container', () => {
    const restarted = createInstance({ containerId: 'c0ffee'.padEnd(64, '0') });
    const earlier = restarted.owner.replace(`:${namespace}:`, ':1:');
    expect(restarted.ownerState(earlier)).toBe('dead');
    expect(createInstance({ containerId: 'd'.repeat(64) }).ownerState(earlier)).toBe('unknown');
    expect(self.ownerState(earlier)).toBe('unknown');
  });

  test('cannot make sense of what is no owner', () => {
    const strangers = [
      '',
      'process',
      'process::::::',
      'container:abc',
      `process:${machine}:${boot}:${namespace}:-1:0:`,
    ];
    for (const owner of strangers) expect(self.ownerState(owner)).toBe('unknown');
    expect(self.ownerState(`process:${machine}:${boot}:${namespace}:../1:0:`)).toBe('unknown');
  });

  function named(part: Partial<Record<'machine' | 'boot' | 'namespace' | 'startTime', string>>): string {
    const its = { machine, boot, namespace, startTime, ...part };
    return [kind, its.machine, its.boot, its.namespace, pid, its.startTime, ''].join(':');
  }

  function ownerOf(pid: number): string {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return [kind, machine, boot, namespace, pid, startTime, ''].join(':');
  }
});

describe('createInstance() where the kernel tells nothing', () => {
  const self = createInstance(nowhere);

  test('goes by the name of the host and the pid', async () => {
    expect(self.owner).toMatch(new RegExp(`^process:[\\w.-]+:::${process.pid}::$`));
    expect(createInstance(nowhere).ownerState(self.owner)).toBe('self');
    const child = spawn('sleep', ['60']);
    children.push(child);
    await once(child, 'spawn');
    const owner = self.owner.replace(`:${process.pid}:`, `:${child.pid}:`);
    // Another process may have this id.
    expect(self.ownerState(owner)).toBe('unknown');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(self.ownerState(owner)).toBe('dead');
  });

  test('cannot tell about another host', () => {
    expect(self.ownerState('process:elsewhere::::1::')).toBe('unknown');
    expect(self.ownerState('process:elsewhere:::999999::')).toBe('unknown');
  });

  test.each([
    [[1, 0], true],
    [[7, 1], true],
    [[812, 640], false],
    [[812, 0], false],
  ] as const)('with the pids %j, itself and its parent, is the main process of its container: %j', (pids, expected) => {
    expect(createInstance({ containerId: 'c0ffee', pids }).isMainProcess).toBe(expected);
    expect(createInstance({ pids }).isMainProcess).toBe(false);
  });
});

describe('ownContainerId()', () => {
  const id = 'ab'.repeat(32);
  let procDir: string;

  beforeEach(() => {
    procDir = mkdtempSync(join(tmpdir(), 'proc-'));
    mkdirSync(join(procDir, 'self'));
  });
  afterEach(() => rmSync(procDir, { recursive: true }));

  const write = (file: 'mountinfo' | 'cgroup', text: string) => writeFileSync(join(procDir, 'self', file), text);

  test('is in what Docker mounts over /etc/hostname', () => {
    write(
      'mountinfo',
      `22 1 8:1 / / rw - ext4 /dev/sda1 rw\n510 22 8:1 /var/lib/docker/containers/${id}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n`,
    );
    expect(ownContainerId(procDir)).toBe(id);
  });

  test('is in what Podman mounts there', () => {
    write(
      'mountinfo',
      `510 22 0:25 /containers/overlay-containers/${id}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw\n`,
    );
    expect(ownContainerId(procDir)).toBe(id);
  });

  test.each([`5:devices:/docker/${id}`, `0::/system.slice/docker-${id}.scope`])('is in the cgroup: %s', (line) => {
    write('mountinfo', '');
    write('cgroup', `${line}\n`);
    expect(ownContainerId(procDir)).toBe(id);
  });

  test('does not take the overlay of another container for its own', () => {
    write('mountinfo', `600 22 0:51 / /var/lib/docker/overlay2/${id}/merged rw - overlay overlay rw\n`);
    write('cgroup', '0::/user.slice\n');
    expect(ownContainerId(procDir)).toBeUndefined();
  });

  test('is undefined where there is no /proc', () => {
    expect(ownContainerId(join(procDir, 'nothing'))).toBeUndefined();
  });
});
