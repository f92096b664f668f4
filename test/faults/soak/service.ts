import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { apiToken, ask } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';

/** A process of the service. */
export type Service = {
  /** Updates all stale containers; resolves at the end to the output. */
  readonly update: () => Promise<UpdateReply>;
  /** Resolves once the API answers, before any repair or update. */
  readonly listens: () => Promise<void>;
  /** Resolves once the remains of an earlier process are repaired. */
  readonly hasRepaired: () => Promise<void>;
  readonly weigh: () => Promise<Weight>;
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  /** SIGKILL; resolves to its log lines. Throws if it had exited by itself, which must not happen. */
  readonly kill: () => Promise<readonly string[]>;
  /** SIGTERM; resolves to its exit code. */
  readonly stop: () => Promise<number | null>;
};

export type UpdateReply = {
  readonly status: number;
  /** The outcomes of the containers that were not updated, with the reasons. */
  readonly others: readonly string[];
};

/** Once the process is idle. */
export type Weight = {
  /** Heap after a full collection. */
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
};

/** With its HTTP API on a free port. */
export function startService(engine: LabEngine, args: readonly string[] = []): Service {
  const weightFile = join(engine.dir, 'weight.json');
  const { child, seen, ended, output } = startUpkeep(['run', ...brief, ...api, ...args], {
    socket: engine.socket,
    env: { NODE_OPTIONS: `--import=${new URL('weigh.mjs', import.meta.url).href}`, WEIGHT_FILE: weightFile },
  });
  const url = async (): Promise<string> => {
    await seen('"listening"');
    return /"address":"([^"]+)"/.exec(output())?.[1] ?? '';
  };
  const hasRepaired = () => seen('No periodic updates');
  return {
    listens: () => seen('"listening"'),
    hasRepaired,
    update: async () => {
      await hasRepaired();
      const { status, json } = await ask(await url(), '/v1/update', { method: 'POST' });
      const { containers = [] } = json() as {
        readonly containers?: readonly { readonly name: string; readonly outcome: string; readonly reason: string }[];
      };
      const others = containers.filter(({ outcome }) => outcome !== 'updated');
      return { status, others: others.map(({ name, outcome, reason }) => `${name} ${outcome}: ${reason}`) };
    },
    weigh: async () => {
      await sleep(idleMs);
      rmSync(weightFile, { force: true });
      child.kill('SIGUSR2');
      const written = await waitFor(() => readFileSync(weightFile, 'utf8'));
      const memory = JSON.parse(written) as Pick<Weight, 'heapBytes' | 'residentBytes'>;
      return { ...memory, descriptors: countDescriptors(child.pid ?? 0) };
    },
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      const { code } = await ended;
      if (code !== null) throw new Error(`The service ended by itself with ${code}:\n${output().slice(-5000)}`);
      return output().split('\n');
    },
    stop: async () => {
      child.kill('SIGTERM');
      return (await ended).code;
    },
  };
}

export function countDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

const brief = ['--health-window', '500ms', '--include-stopped', '--cleanup', '--no-color'];
const api = [
  ...['--http-api-endpoints', 'health,update,history', '--http-api-port', '0', '--http-api-token', apiToken],
  ...['--http-api-update-timeout', '55m'],
];

/** Idle keep-alive connections are closed by then. */
const idleMs = 10_000;

async function waitFor(read: () => string): Promise<string> {
  for (let waitedMs = 0; ; waitedMs += 100) {
    try {
      return read();
    } catch (error) {
      if (waitedMs > 30_000) throw error;
      await sleep(100);
    }
  }
}
