import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ask } from '../support/http/http-scene.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';

export type FuzzOptions = {
  readonly seconds: number;
  readonly seed: number;
  /** Connections that each hostile client attacks with at a time. */
  readonly connections: number;
};

export type FuzzReport = {
  /** Of the measuring client. */
  readonly asked: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** In elapsed time. */
  readonly wallMs: Times;
  /**
   * Without the time for which service and client waited for a processor, because other work on the machine is not a
   * stall of ours.
   */
  readonly netMs: Times;
  /** Attacks of the hostile clients, and the replies to them. */
  readonly attacks: number;
  readonly replies: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly logBytesPerRefusal: number;
  /** In MiB: after the first fifth of the time, and at the end. */
  readonly early: Memory;
  readonly late: Memory;
};

/** `resident` as the kernel counts it; `used` is heap and buffers, once all garbage is collected. */
export type Memory = { readonly resident: number; readonly used: number };

export type Times = { readonly median: number; readonly p99: number; readonly longest: number };

/**
 * Runs the executable with its demo, three hostile clients, and one client that measures. All are on the loopback, each
 * with its own address.
 */
export async function fuzzHttpDoor({ seconds, seed, connections }: FuzzOptions): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-fuzz-'));
  const memoryFile = join(folder, 'memory');
  const reporter = new URL('./report-memory.mjs', import.meta.url);
  const demo = startUpkeep(['demo', '--http-api-port', '0', '--log-level', 'info'], {
    env: { NODE_OPTIONS: `--import=${reporter.href}`, UPKEEP_MEMORY_FILE: memoryFile },
  });
  try {
    await demo.seen('API token: ');
    const [, address = ''] = /Page: (\S+)\//.exec(demo.output()) ?? [];
    const [, token = ''] = /API token: ([^\s,]+)/.exec(demo.output()) ?? [];
    const port = Number(new URL(address).port);
    const pid = demo.child.pid ?? 0;
    const hostile = [2, 3, 4].map(
      (last) =>
        new Worker(new URL('./hostile-client.mjs', import.meta.url), {
          workerData: { port, localAddress: `127.0.0.${last}`, seed: seed + last, connections },
        }),
    );
    const logged = watchLog(demo.child.stderr);
    const wallMs: number[] = [];
    const netMs: number[] = [];
    const waited = () => waitedForProcessorMs(`/proc/${pid}`) + waitedForProcessorMs('/proc/thread-self');
    const statuses: Record<string, number> = {};
    const endMs = performance.now() + seconds * 1000;
    const earlyMs = endMs - seconds * 800;
    const pages = ['/livez', '/readyz', '/v1/containers', '/v1/containers/details', '/v1/images', '/v1/config'];
    let early: Memory | undefined;
    for (let each = 0; performance.now() < endMs; each += 1) {
      const [beganMs, waitedBeforeMs] = [performance.now(), waited()];
      const localAddress = `127.0.${1 + (each % 30)}.1`;
      const signal = AbortSignal.timeout(maxReplyMs);
      const reply = await ask(address, pages[each % pages.length] ?? '/livez', { token, localAddress, signal });
      const tookMs = performance.now() - beganMs;
      wallMs.push(tookMs);
      netMs.push(Math.max(0, tookMs - (waited() - waitedBeforeMs)));
      statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
      if (early === undefined && performance.now() > earlyMs) early = await memoryOf(pid, memoryFile);
      await sleep(50);
    }
    const told = await Promise.all(hostile.map(stopHostile));
    const late = await memoryOf(pid, memoryFile);
    const replies = addUp(told.map((each) => each.replies));
    const refused = Object.entries(replies).reduce((sum, [status, n]) => sum + (status.startsWith('4') ? n : 0), 0);
    return {
      asked: wallMs.length,
      statuses,
      wallMs: timesOf(wallMs),
      netMs: timesOf(netMs),
      attacks: told.reduce((sum, { sent }) => sum + sent, 0),
      replies,
      refused,
      logBytesPerRefusal: logged() / Math.max(1, refused),
      early: early ?? late,
      late,
    };
  } catch (error) {
    throw new Error(`It went wrong; the end of its log: ${demo.output().slice(-2000)}`, { cause: error });
  } finally {
    demo.child.kill('SIGKILL');
    await demo.ended;
    rmSync(folder, { recursive: true });
  }
}

/** Timeout of the measuring client; a longer time is a failure. */
const maxReplyMs = 60_000;

type Told = { readonly sent: number; readonly replies: Readonly<Record<string, number>> };

async function stopHostile(worker: Worker): Promise<Told> {
  const told = new Promise<Told>((resolve) => worker.once('message', resolve));
  worker.postMessage('stop');
  const result = await told;
  await worker.terminate();
  return result;
}

/** Bytes of the log lines about requests of the hostile clients. */
function watchLog(stream: NodeJS.ReadableStream | null): () => number {
  let bytes = 0;
  let rest = '';
  stream?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (!/"127\.0\.\d+\.1"/.test(line)) bytes += line.length + 1;
  });
  return () => bytes;
}

function addUp(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const each of all) for (const [key, count] of Object.entries(each)) sum[key] = (sum[key] ?? 0) + count;
  return sum;
}

function timesOf(all: readonly number[]): Times {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(10 * (sorted[Math.floor((sorted.length - 1) * share)] ?? 0)) / 10;
  return { median: at(0.5), p99: at(0.99), longest: at(1) };
}

/** Of a process's main thread, or of a thread: https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat */
function waitedForProcessorMs(folder: string): number {
  return Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}

async function memoryOf(pid: number, file: string): Promise<Memory> {
  const resident = residentMiB(pid);
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  const deadlineMs = performance.now() + maxReplyMs;
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') {
    if (performance.now() > deadlineMs) throw new Error('The service does not report its memory');
    await sleep(10);
  }
  return { resident, used: Number(readFileSync(file, 'utf8')) };
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
