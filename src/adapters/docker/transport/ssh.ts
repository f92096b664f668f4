import { spawn, type ChildProcess } from 'node:child_process';
import { Duplex } from 'node:stream';
import type { EngineAddress } from './address.ts';
import { sshFailed } from './failure.ts';

/**
 * A connection to the engine of another host. The system's `ssh` runs `docker system dial-stdio` there,
 * with the engine's socket as its input and output
 * (https://github.com/docker/cli/blob/master/cli/command/system/dial_stdio.go). Keys, known hosts and jump
 * hosts come from the user's ssh configuration. The child ends with the stream.
 */
export function openSsh(address: EngineAddress & { kind: 'ssh' }): Duplex {
  const child = spawn('ssh', sshArguments(address), { stdio: ['pipe', 'pipe', 'pipe'] });
  const complaints = collectComplaints(child);
  const stream = new Duplex({
    // Otherwise a session with a closed far end would look reusable.
    allowHalfOpen: false,
    read: () => void child.stdout.resume(),
    // The reason for a failed write is in the child's last words, which arrive later.
    write: (chunk, _encoding, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(() => done()),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  child.stdin.on('error', leaveToClose);
  child.stdout.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) child.stdout.pause();
  });
  child.stdout.on('end', () => child.stdin.end());
  child.on('error', ({ message }) => stream.destroy(failure(`the program "ssh" cannot be run: ${message}`)));
  child.on('close', (exitCode) => {
    if (exitCode === 0) stream.push(null);
    else stream.destroy(failure(`ssh ended with ${exitCode ?? 'a signal'}: ${complaints()}`));
  });
  return asSocket(stream);
}

/** `BatchMode` and `-T`: nobody is there to answer a question. Everything after `--` is no option. */
export function sshArguments(address: EngineAddress & { kind: 'ssh' }): string[] {
  return [
    ...['-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=20'],
    // Notices within a minute and a half that the other host is gone.
    ...['-o', 'ServerAliveInterval=30', '-o', 'ServerAliveCountMax=3'],
    ...(address.port === undefined ? [] : ['-p', String(address.port)]),
    ...(address.user === undefined ? [] : ['-l', address.user]),
    ...['--', address.host, 'docker system dial-stdio'],
  ];
}

const maxComplaintChars = 1_000;

function collectComplaints(child: ChildProcess): () => string {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-maxComplaintChars);
  });
  return () => words.trim() || 'it gave no reason';
}

function failure(message: string): Error {
  return Object.assign(new Error(message), { code: sshFailed });
}

function leaveToClose(): void {}

/** `http.Agent` asks these of a socket; a pair of pipes has no use for them. */
function asSocket(stream: Duplex): Duplex {
  const nothing = (): Duplex => stream;
  return Object.assign(stream, {
    setKeepAlive: nothing,
    setNoDelay: nothing,
    setTimeout: nothing,
    ref: nothing,
    unref: nothing,
  });
}
