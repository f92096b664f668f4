import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export type Daemon = {
  readonly pid: number;
  readonly running: () => boolean;
  /** SIGTERM, then SIGKILL if it has not ended in time. Resolves once it has ended. */
  readonly stop: (options?: { readonly timeoutMs?: number }) => Promise<void>;
  /** SIGKILL. Resolves once it has ended. */
  readonly kill: () => Promise<void>;
};

export type DaemonOptions = {
  readonly command: readonly [string, ...string[]];
  /** Both streams are appended here. */
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called again until it returns true; a rejection counts as false. */
  readonly ready: () => Promise<boolean>;
  readonly timeoutMs?: number;
};

/** Starts a server and waits until it answers; throws with the end of its log if it does not. */
export async function startDaemon({
  command,
  logFile,
  env,
  ready,
  timeoutMs = 30_000,
}: DaemonOptions): Promise<Daemon> {
  const log = openSync(logFile, 'a');
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } });
  closeSync(log);
  const ended = once(child, 'close').catch(() => undefined);
  const daemon = daemonOf(child, ended);
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await ready().catch(() => false))) {
    if (!daemon.running() || performance.now() > deadlineMs) {
      await daemon.kill();
      const tail = readFileSync(logFile, 'utf8').split('\n').slice(-20).join('\n');
      throw new Error(`Cannot start "${program}": it does not answer. The end of its log:\n${tail}`);
    }
    await sleep(20);
  }
  return daemon;
}

function daemonOf(child: ChildProcess, ended: Promise<unknown>): Daemon {
  const running = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return {
    pid: child.pid ?? 0,
    running,
    kill,
    stop: async ({ timeoutMs = 10_000 } = {}) => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
