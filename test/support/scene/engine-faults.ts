import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { ProxiedCall } from '../../lab/proxy/fault-proxy.ts';
import type { FaultyEngine } from './five-engines.ts';

/** An incident at one engine while others are updated, and its end. */
export type EngineFault = {
  readonly name: string;
  readonly strike: (fifth: FaultyEngine) => void;
  readonly heal: (fifth: FaultyEngine) => Promise<void>;
  /** The result that the run reports; `waits`: the run lasts as long as the fault. */
  readonly told: 'unreachable' | 'failed' | 'waits';
};

export const engineFaults: readonly EngineFault[] = [
  {
    name: 'refuses connections',
    strike: ({ proxy }) => firewall('--insert', proxy.port, ['REJECT', '--reject-with', 'tcp-reset']),
    heal: async ({ proxy }) => firewall('--delete', proxy.port, ['REJECT', '--reject-with', 'tcp-reset']),
    told: 'unreachable',
  },
  {
    name: 'is behind a network that drops all packets',
    strike: ({ proxy }) => firewall('--insert', proxy.port, ['DROP']),
    heal: async ({ proxy }) => firewall('--delete', proxy.port, ['DROP']),
    told: 'unreachable',
  },
  {
    name: 'answers after 25 seconds',
    strike: ({ proxy }) => proxy.arm({ times: Infinity, fault: { kind: 'delay', when: 'before', ms: 25_000 } }),
    heal: async ({ proxy }) => proxy.disarm(),
    told: 'unreachable',
  },
  {
    name: 'hangs in the middle of a pull',
    strike({ proxy, engine }) {
      proxy.arm({
        at: isPull,
        fault: { kind: 'meanwhile', when: 'before', act: async () => signal(engine, 'SIGSTOP') },
      });
    },
    heal: async ({ engine }) => signal(engine, 'SIGCONT'),
    told: 'waits',
  },
  {
    name: 'is killed in the middle of an update',
    strike({ proxy, engine }) {
      proxy.arm({ at: isRename, fault: { kind: 'kill', when: 'during', kill: () => void engine.kill() } });
    },
    heal: ({ engine }) => engine.start(),
    told: 'waits',
  },
  {
    name: 'has a full disk',
    strike: ({ engine }) => execFileSync('fallocate', ['--length', `${freeBytes(engine.dir)}`, filler(engine.dir)]),
    heal: async ({ engine }) => rmSync(filler(engine.dir)),
    told: 'failed',
  },
];

function firewall(action: '--insert' | '--delete', port: number, target: readonly string[]): void {
  execFileSync('iptables', [action, 'INPUT', '--protocol', 'tcp', '--dport', `${port}`, '--jump', ...target]);
}

function signal({ pid }: FaultyEngine['engine'], name: 'SIGSTOP' | 'SIGCONT'): void {
  process.kill(pid(), name);
}

function isPull({ path, change }: ProxiedCall): boolean {
  return change !== undefined && path.includes('/images/create');
}

function isRename({ path, change }: ProxiedCall): boolean {
  return change !== undefined && path.includes('/rename');
}

function filler(engineDir: string): string {
  return join(engineDir, 'data', 'filler');
}

function freeBytes(engineDir: string): number {
  const { bavail, bsize } = statfsSync(join(engineDir, 'data'));
  return bavail * bsize;
}
