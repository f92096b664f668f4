import { spawn, type ChildProcess } from 'node:child_process';
import { Duplex } from 'node:stream';
import type { Address } from './address.ts';
import { sshFailed } from './failure.ts';

export type SshAddress = Address & { readonly kind: 'ssh' };

/** All variables that `ssh` gets. */
export type SshEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Opens sessions with the engine of another host. The system's `ssh` runs `docker system dial-stdio` there, which
 * connects its input and output to the engine's socket
 * (https://github.com/docker/cli/blob/master/cli/command/system/dial_stdio.go), or the same command of `podman` where
 * `docker` is not installed. The program that answered is tried first next time. Keys, known hosts and jump
 * hosts come from the user's ssh configuration.
 */
export function createSshHost(address: SshAddress, environment: SshEnvironment): () => Duplex {
  let programs: readonly string[] = ['docker', 'podman'];
  const answered = (program: string) => {
    if (programs[0] !== program) programs = [program, ...programs.filter((other) => other !== program)];
  };
  return () => openSession({ address, environment, programs, answered });
}

type SessionParts = {
  readonly address: SshAddress;
  readonly environment: SshEnvironment;
  readonly programs: readonly string[];
  readonly answered: (program: string) => void;
};

/** The child ends with the stream. */
function openSession({ address, environment, programs, answered }: SessionParts): Duplex {
  const untried = [...programs];
  /** The request so far, at most one, to resend to the next program; undefined after the first answer. */
  let unanswered: Buffer[] | undefined = [];
  let child = dial();
  const stream = new Duplex({
    // Otherwise a session that the other side has closed would look reusable.
    allowHalfOpen: false,
    read: () => void child.stdout?.resume(),
    // The reason for a failed write is in the child's error output, which arrives later.
    write(chunk: Buffer, _encoding, done) {
      unanswered?.push(chunk);
      if (child.stdin) child.stdin.write(chunk, () => done());
      else done();
    },
    final: (done) => (child.stdin ? void child.stdin.end(() => done()) : done()),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  return asSocket(stream);

  function dial() {
    const program = untried.shift() ?? '';
    // It has no pipes if the system has no file descriptors left.
    const ssh: ChildProcess = spawn('ssh', sshArguments(address, program), {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: environment,
    });
    const errorOutput = collectErrorOutput(ssh);
    ssh.stdin?.on('error', ignoreError);
    ssh.stdout?.once('data', () => {
      unanswered = undefined;
      answered(program);
    });
    ssh.stdout?.on('data', (chunk: Buffer) => {
      if (!stream.push(chunk)) ssh.stdout?.pause();
    });
    ssh.stdout?.on('end', () => ssh.stdin?.end());
    ssh.on('error', ({ message }) => stream.destroy(failure(`the program "ssh" cannot be run: ${message}`)));
    ssh.on('close', (exitCode) => {
      if (stream.destroyed) return;
      if (exitCode === 0) stream.push(null);
      else if (!isMissing(exitCode, errorOutput())) {
        stream.destroy(failure(`ssh ended with ${exitCode ?? 'a signal'}: ${errorOutput() || 'it gave no reason'}`));
      } else if (unanswered === undefined || untried.length === 0)
        stream.destroy(failure(`${neither}: ${errorOutput()}`));
      else dialNext(unanswered);
    });
    return ssh;
  }

  function dialNext(request: readonly Buffer[]): void {
    child = dial();
    for (const chunk of request) child.stdin?.write(chunk);
    if (stream.writableEnded) child.stdin?.end();
  }
}

/**
 * `BatchMode` and `-T`: no prompts and no terminal. `-a` and `-x`: the other host must not use our agent or display,
 * even if the configuration allows it. Arguments after `--` are not options.
 */
export function sshArguments(address: SshAddress, program: string): string[] {
  return [
    ...['-a', '-x', '-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=20'],
    // Detects a dead host within a minute and a half.
    ...['-o', 'ServerAliveInterval=30', '-o', 'ServerAliveCountMax=3'],
    ...(address.port === undefined ? [] : ['-p', String(address.port)]),
    ...(address.user === undefined ? [] : ['-l', address.user]),
    ...['--', address.host, `${program} system dial-stdio`],
  ];
}

/** POSIX shells exit with 127, others only print a message: csh, PowerShell, cmd.exe. An error of `ssh` gives 255. */
function isMissing(exitCode: number | null, errorOutput: string): boolean {
  return exitCode === 127 || (exitCode !== 255 && /command not found|is not recognized/i.test(errorOutput));
}

const neither = 'neither "docker" nor "podman" can be run there';

const maxErrorChars = 1_000;

function collectErrorOutput(child: ChildProcess): () => string {
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-maxErrorChars);
  });
  return () => output.trim();
}

function failure(message: string): Error {
  return Object.assign(new Error(message), { code: sshFailed });
}

/** The `close` event reports the failure. */
function ignoreError(): void {}

/** `http.Agent` calls these methods of a socket. Pipes do not need them. */
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
