import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFaultProxy, type Fault, type ProxiedCall } from '../../lab/fault-proxy.ts';
import type { LabEngine } from '../../lab/engine.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage, type Pushed } from '../../lab/push.ts';
import type { Shape } from './shapes.ts';

/** An engine of one's own with a shape on it, and an updater that may be killed at any call. */
export type Stage = {
  readonly engine: LabEngine;
  /** The images behind the tag before and now. */
  readonly versions: { readonly old: Pushed; readonly next: Pushed };
  readonly image: string;
  /** Runs `upkeep update` through a proxy, with a fault for it to meet; resolves when it has ended. */
  readonly update: (strike?: Strike) => Promise<Run>;
  /** A start that finds what an earlier life has left, and has nothing else to do. */
  readonly startAgain: (strike?: Strike) => Promise<Run>;
};

/** What happens at one of the state-changing calls, counted from 1; `kill` ends the updater. */
export type Strike = { readonly change: number; readonly fault: (kill: () => void) => Fault };

export type Run = {
  readonly code: number | null;
  readonly output: string;
  /** The state-changing calls that it made, in order. */
  readonly changes: readonly ProxiedCall[];
};

/** Whose update it is: our own, or for comparison that of one that removes first. */
export type Updater = 'upkeep' | 'removing';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const removing = fileURLToPath(new URL('removing-updater.mjs', import.meta.url));

/** Clears the engine and sets the shape's scene on it; each stage has a repository of its own. */
export async function setStage(lab: Lab, engine: LabEngine, shape: Shape, updater: Updater = 'upkeep'): Promise<Stage> {
  await engine.clear();
  const repository = `rig/${engine.name}`;
  const image = `${lab.registry.host}/${repository}:stable`;
  const old = await pushImage(lab.registry, repository, 'stable', shape.old);
  await engine.pull(image);
  await shape.scene(engine, image, `127.0.77.${Number(/\d+$/.exec(engine.name)?.[0] ?? 0) + 1}`);
  const next = await pushImage(lab.registry, repository, 'stable', shape.next);
  const names = Object.keys(shape.containers);
  const run = (args: readonly string[], strike?: Strike) =>
    runUpdater(
      engine,
      (socket) =>
        updater === 'removing'
          ? [removing, socket, ...names]
          : [main, ...args, ...(shape.flags ?? []), '--host', `unix://${socket}`, ...brief],
      strike,
    );
  return {
    engine,
    image,
    versions: { old, next },
    update: (strike) => run(['update'], strike),
    startAgain: (strike) => run(['update', 'no-such-container'], strike),
  };
}

/** Seconds instead of minutes. */
const brief = ['--health-window', '500ms', '--no-color'];

async function runUpdater(
  engine: LabEngine,
  command: (socket: string) => readonly string[],
  strike?: Strike,
): Promise<Run> {
  const socketPath = join(mkdtempSync(join(engine.dir, 'p-')), 's');
  const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
  try {
    const child = spawn(process.execPath, command(socketPath), {
      env: { PATH: process.env['PATH'], HOME: engine.dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (strike !== undefined) proxy.arm({ at: strike.change, fault: strike.fault(() => child.kill('SIGKILL')) });
    const { code, output } = await ended(child);
    return { code, output, changes: proxy.calls.filter(({ change }) => change !== undefined) };
  } finally {
    await proxy.close();
  }
}

function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly output: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
