import { spawn, type ChildProcess } from 'node:child_process';
import http from 'node:http';
import { Duplex } from 'node:stream';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { EngineAddress } from './address.ts';
import { startDeadline, type Deadline } from './deadline.ts';
import { sshFailed } from './failure.ts';
import { usualSessions } from './ssh-session-limit.ts';

type SshAddress = EngineAddress & { readonly kind: 'ssh' };

/** Longer than the pauses within a run; every session is a process of 8 MB. */
const keptIdleMs = 10_000;

/**
 * A new session costs half a second, so changes too use one again, if there is a free one; nothing between here and
 * the engine closes it for idleness. Events have a session of their own.
 */
export function sshAgents(address: SshAddress, clock: Clock) {
  const open = createSshHost(address);
  const requests = keepingAgent(open, clock);
  const events = Object.assign(new http.Agent({ keepAlive: false }), { createConnection: open });
  return { shared: requests, own: requests, events };
}

/** Keeps the usual number of sessions for their next use, and ends one that has had none for a while. */
function keepingAgent(open: () => Duplex, clock: Clock): http.Agent {
  const opened = new Set<Duplex>();
  const idle = new Map<Duplex, Deadline>();

  function endIdle(session: Duplex): void {
    idle.get(session)?.end();
    idle.delete(session);
  }

  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: usualSessions });
  const reuse = agent.reuseSocket.bind(agent);
  return Object.assign(agent, {
    createConnection() {
      const session = open();
      opened.add(session);
      session.once('close', () => {
        opened.delete(session);
        endIdle(session);
      });
      return session;
    },
    keepSocketAlive(session: Duplex): boolean {
      // Beside calls that last one is kept for reads.
      if (opened.size > usualSessions && idle.size > 0) return false;
      idle.set(
        session,
        startDeadline(clock, keptIdleMs, () => session.destroy()),
      );
      return true;
    },
    reuseSocket(session: Duplex, request: http.ClientRequest) {
      endIdle(session);
      reuse(session, request);
    },
  });
}

/**
 * Opens sessions with the engine of another host. The system's `ssh` runs `docker system dial-stdio` there, with the
 * engine's socket as its input and output
 * (https://github.com/docker/cli/blob/master/cli/command/system/dial_stdio.go), or the same command of `podman` where
 * `docker` is not installed. The program that answered is tried first from then on. Keys, known hosts and jump
 * hosts come from the user's ssh configuration.
 */
function createSshHost(address: SshAddress): () => Duplex {
  let programs: readonly string[] = ['docker', 'podman'];
  const answered = (program: string) => {
    if (programs[0] !== program) programs = [program, ...programs.filter((other) => other !== program)];
  };
  return () => openSession(address, programs, answered);
}

/** The child ends with the stream. */
function openSession(address: SshAddress, programs: readonly string[], answered: (program: string) => void): Duplex {
  const left = [...programs];
  /** One request at most, to be said again to the next program; undefined once there was an answer. */
  let said: Buffer[] | undefined = [];
  let child = dial();
  const stream = new Duplex({
    // Otherwise a session with a closed far end would look reusable.
    allowHalfOpen: false,
    read: () => void child.stdout.resume(),
    // The reason for a failed write is in the child's last words, which arrive later.
    write(chunk: Buffer, _encoding, done) {
      said?.push(chunk);
      child.stdin.write(chunk, () => done());
    },
    final: (done) => void child.stdin.end(() => done()),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  return asSocket(stream);

  function dial() {
    const program = left.shift() ?? '';
    const ssh = spawn('ssh', sshArguments(address, program), { stdio: ['pipe', 'pipe', 'pipe'] });
    const complaints = collectComplaints(ssh);
    ssh.stdin.on('error', leaveToClose);
    ssh.stdout.once('data', () => {
      said = undefined;
      answered(program);
    });
    ssh.stdout.on('data', (chunk: Buffer) => {
      if (!stream.push(chunk)) ssh.stdout.pause();
    });
    ssh.stdout.on('end', () => ssh.stdin.end());
    ssh.on('error', ({ message }) => stream.destroy(failure(`the program "ssh" cannot be run: ${message}`)));
    ssh.on('close', (exitCode) => {
      if (stream.destroyed) return;
      if (exitCode === 0) stream.push(null);
      else if (!isMissing(exitCode, complaints())) {
        stream.destroy(failure(`ssh ended with ${exitCode ?? 'a signal'}: ${complaints() || 'it gave no reason'}`));
      } else if (said === undefined || left.length === 0) stream.destroy(failure(`${neither}: ${complaints()}`));
      else dialNext(said);
    });
    return ssh;
  }

  function dialNext(request: readonly Buffer[]): void {
    child = dial();
    for (const chunk of request) child.stdin.write(chunk);
    if (stream.writableEnded) child.stdin.end();
  }
}

/**
 * `BatchMode` and `-T`: nobody is there to answer a question. `-a` and `-x`: the other host gets no use of our agent or
 * display, whatever the configuration says. Everything after `--` is no option.
 */
export function sshArguments(address: SshAddress, program: string): string[] {
  return [
    ...['-a', '-x', '-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=20'],
    // Notices within a minute and a half that the other host is gone.
    ...['-o', 'ServerAliveInterval=30', '-o', 'ServerAliveCountMax=3'],
    ...(address.port === undefined ? [] : ['-p', String(address.port)]),
    ...(address.user === undefined ? [] : ['-l', address.user]),
    ...['--', address.host, `${program} system dial-stdio`],
  ];
}

/** Shells of POSIX end with 127, others say it in words: csh, PowerShell, cmd.exe. An error of `ssh` itself is 255. */
function isMissing(exitCode: number | null, complaints: string): boolean {
  return exitCode === 127 || (exitCode !== 255 && /command not found|is not recognized/i.test(complaints));
}

const neither = 'neither "docker" nor "podman" can be run there';

const maxComplaintChars = 1_000;

function collectComplaints(child: ChildProcess): () => string {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-maxComplaintChars);
  });
  return () => words.trim();
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
