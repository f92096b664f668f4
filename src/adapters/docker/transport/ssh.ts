import { formatDuration } from '../../../domain/text/duration.ts';
import http from 'node:http';
import { Duplex } from 'node:stream';
import type { Clock } from '../../../domain/outside/outside.ts';
import { startDeadline, sshFailed, EngineFailure, type Deadline, type Explained } from './request.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import type { Address, SocketKind } from './connection.ts';

/** Longer than the pauses within a check; every session is a process of 8 MB. */
const keptIdleMs = 10_000;

/**
 * A new session costs half a second, so changes also reuse a free session; no program on the way closes it for
 * idleness. Events have their own session.
 */
export function sshAgents(address: SshAddress, clock: Clock, environment: SshEnvironment) {
  const open = createSshHost(address, environment);
  const requests = keepingAgent(open, clock);
  const events = Object.assign(new http.Agent({ keepAlive: false }), { createConnection: open });
  return { shared: requests, change: requests, own: requests, events };
}

/** Keeps the usual number of sessions for reuse, and ends idle ones. */
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
      // While long calls hold other sessions, one idle session is kept for reads.
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

type SshAddress = Address & { readonly kind: 'ssh' };

/** All variables that `ssh` gets. */
export type SshEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Opens sessions with the engine of another host. The system's `ssh` runs `docker system dial-stdio` there, which
 * connects its input and output to the engine's socket
 * (https://github.com/docker/cli/blob/master/cli/command/system/dial_stdio.go), or the same command of `podman` where
 * `docker` is not installed. The program that answered is tried first next time. Keys, known hosts and jump
 * hosts come from the user's ssh configuration.
 */
function createSshHost(address: SshAddress, environment: SshEnvironment): () => Duplex {
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

/**
 * Limits the concurrent sessions with one engine, because each session is a process. Resolves to a function that must
 * be called to end the turn. Throws an `EngineFailure` if no session is free within `ms`, or the signal's reason.
 */
export type SessionLimit = (order: SessionRequest) => Promise<() => void>;

type SessionRequest = {
  /** The kind of socket, as in `ConnectionRequest`. */
  readonly socket: SocketKind;
  readonly ms: number;
  readonly signal: AbortSignal | undefined;
};

/** Sessions for requests, while at most one long call is under way. */
const usualSessions = 2;

/** Pulls, stops and other long calls. An update of many containers has at most 8 under way. */
const maxLongCalls = 32;

/** An inventory has at most 16 reads under way. API requests add more, and are also limited. */
const maxWaiting = 1_000;

/**
 * A long call (`own`) does not wait for reads, because a container could be down meanwhile. Reads (`shared`) get the
 * remaining usual sessions, and at least one, so long calls never block them. Events have their own session, which does
 * not count.
 */
export function createSessionLimit({ clock, host }: { readonly clock: Clock; readonly host: string }): SessionLimit {
  const underWay = { own: 0, shared: 0 };
  const waiting = new Set<Waiter>();

  function isFree(kind: SessionKind): boolean {
    if (kind === 'own') return underWay.own < maxLongCalls;
    return underWay.shared < Math.max(1, usualSessions - underWay.own);
  }

  function begin(kind: SessionKind): () => void {
    underWay[kind] += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      underWay[kind] -= 1;
      for (const { kind: next, admit } of [...waiting]) if (isFree(next)) admit();
    };
  }

  function wait(kind: SessionKind, { ms, signal }: SessionRequest): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        kind,
        admit() {
          leave();
          resolve(begin(kind));
        },
      };
      const deadline = startDeadline(clock, ms, () =>
        giveUp(new EngineFailure(sessionsBusy(ms), { host, sent: false })),
      );
      const onAbort = () => giveUp(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(waiter);

      function leave(): void {
        waiting.delete(waiter);
        deadline.end();
        signal?.removeEventListener('abort', onAbort);
      }

      function giveUp(reason: unknown): void {
        leave();
        reject(reason);
      }
    });
  }

  return async function take(request) {
    request.signal?.throwIfAborted();
    if (request.socket === 'events') return () => undefined;
    const kind = request.socket === 'shared' ? 'shared' : 'own';
    if (isFree(kind)) return begin(kind);
    if (waiting.size >= maxWaiting) throw new EngineFailure(queueFull, { host, sent: false });
    return await wait(kind, request);
  };
}

type SessionKind = 'own' | 'shared';

type Waiter = { readonly kind: SessionKind; readonly admit: () => void };

const remedy = 'Look at the load and the log of the engine';

const sessionsBusy = (ms: number): Explained => ({
  code: 'timeout',
  why: `other calls have used all its sessions for ${formatDuration(ms)}`,
  remedy,
});

const queueFull: Explained = { code: 'timeout', why: `${maxWaiting} calls are already waiting for it`, remedy };
