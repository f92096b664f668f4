import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownContainerId } from './own-container.ts';

const id = 'ab'.repeat(32);
let procDir: string;

beforeEach(() => {
  procDir = mkdtempSync(join(tmpdir(), 'proc-'));
  mkdirSync(join(procDir, 'self'));
});
afterEach(() => rmSync(procDir, { recursive: true }));

const write = (file: 'mountinfo' | 'cgroup', text: string) => writeFileSync(join(procDir, 'self', file), text);

test('ownContainerId() is in what Docker mounts over /etc/hostname', () => {
  write(
    'mountinfo',
    `22 1 8:1 / / rw - ext4 /dev/sda1 rw\n510 22 8:1 /var/lib/docker/containers/${id}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n`,
  );
  expect(ownContainerId(procDir)).toBe(id);
});

test('ownContainerId() is in what Podman mounts there', () => {
  write(
    'mountinfo',
    `510 22 0:25 /containers/overlay-containers/${id}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw\n`,
  );
  expect(ownContainerId(procDir)).toBe(id);
});

test.each([`5:devices:/docker/${id}`, `0::/system.slice/docker-${id}.scope`])(
  'ownContainerId() is in the cgroup: %s',
  (line) => {
    write('mountinfo', '');
    write('cgroup', `${line}\n`);
    expect(ownContainerId(procDir)).toBe(id);
  },
);

test('ownContainerId() does not take the overlay of another container for its own', () => {
  write('mountinfo', `600 22 0:51 / /var/lib/docker/overlay2/${id}/merged rw - overlay overlay rw\n`);
  write('cgroup', '0::/user.slice\n');
  expect(ownContainerId(procDir)).toBeUndefined();
});

test('ownContainerId() is undefined where there is no /proc', () => {
  expect(ownContainerId(join(procDir, 'nothing'))).toBeUndefined();
});
