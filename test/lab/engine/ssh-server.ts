import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startDaemon } from './daemon.ts';

export type SshServer = { readonly host: string; readonly stop: () => Promise<void> };

/**
 * OpenSSH on a loopback address, with temporary keys, one at a time. Its sessions have the given environment, for
 * example `DOCKER_HOST` or `CONTAINER_HOST` for the engine. The lab's own /etc/ssh gives every `ssh` in this lab access
 * without a prompt.
 */
export async function startSshServer(
  labDir: string,
  environment: Readonly<Record<string, string>>,
): Promise<SshServer> {
  const dir = join(labDir, 'ssh');
  const port = 2222;
  mkdirSync(dir, { recursive: true });
  // The server requires this folder, writable only by its owner.
  mkdirSync('/run/sshd', { recursive: true });
  chmodSync('/run/sshd', 0o755);
  for (const name of ['host', 'client']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(dir, name)]);
  }
  const config = join(dir, 'sshd_config');
  writeFileSync(config, serverConfig(dir, port, { PATH: process.env['PATH'] ?? '', ...environment }));
  writeFileSync(join(dir, 'known_hosts'), `[127.0.0.1]:${port} ${readFileSync(join(dir, 'host.pub'), 'utf8')}`);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', '/etc/ssh']);
  writeFileSync(
    '/etc/ssh/ssh_config',
    `Host *\n IdentityFile ${join(dir, 'client')}\n UserKnownHostsFile ${join(dir, 'known_hosts')}\n IdentitiesOnly yes\n`,
  );
  const daemon = await startDaemon({
    command: ['/usr/sbin/sshd', '-D', '-e', '-f', config],
    logFile: join(dir, 'log'),
    ready: () => answers(port),
  });
  return {
    host: `127.0.0.1:${port}`,
    stop: async () => {
      await daemon.kill();
      execFileSync('umount', ['/etc/ssh']);
      rmSync(dir, { recursive: true });
    },
  };
}

/** `StrictModes` is off, because the keys are in a folder of /tmp. */
const serverConfig = (dir: string, port: number, environment: Readonly<Record<string, string>>): string => `Port ${port}
ListenAddress 127.0.0.1
HostKey ${join(dir, 'host')}
AuthorizedKeysFile ${join(dir, 'client.pub')}
PidFile none
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
MaxSessions 100
MaxStartups 100
SetEnv ${Object.entries(environment)
  .map(([name, value]) => `${name}=${value}`)
  .join(' ')}
`;

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
