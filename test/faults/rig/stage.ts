import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createFaultProxy,
  type Fault,
  type FaultProxy,
  type FaultRule,
  type ProxiedCall,
} from '../../lab/proxy/fault-proxy.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage, type Pushed } from '../../lab/registry/push.ts';
import type { Shape } from './shapes.ts';

/** An own engine with a shape on it, and updaters that may be killed at any call. */
export type Stage = {
  readonly engine: LabEngine;
  /** The old and the new image of the tag. */
  readonly versions: { readonly old: Pushed; readonly next: Pushed };
  readonly image: string;
  /** Runs `upkeep update --json` through a proxy, with a fault for it to meet; resolves when it has ended. */
  readonly update: (strike?: Strike) => Promise<Run>;
  /** A start after an interruption, without other work. */
  readonly startAgain: (strike?: Strike) => Promise<Run>;
  /** Any command of `upkeep`, also several at once; each has a proxy of its own. */
  readonly run: (args: readonly string[], circumstances?: Circumstances) => Promise<Run>;
};

/** `rules` strike its calls; `kill` ends it. */
export type Circumstances = {
  readonly rules?: (kill: () => void) => readonly FaultRule[];
  /** Gets the proxy of its calls. */
  readonly watch?: (proxy: FaultProxy) => void;
  readonly env?: Readonly<Record<string, string>>;
  /** A program that runs it, with its arguments. */
  readonly within?: readonly string[];
};

/** Fault at one changing call, counted from 1; `kill` ends the updater. */
export type Strike = { readonly change: number; readonly fault: (kill: () => void) => Fault };

export type Run = {
  /** Null when it was killed, also because it did not end in five minutes. */
  readonly code: number | null;
  readonly stdout: string;
  /** Both streams. */
  readonly output: string;
  /** The state-changing calls that it made, in order. */
  readonly changes: readonly ProxiedCall[];
};

/** The updater: ours, or for comparison one that removes first. */
export type Updater = 'upkeep' | 'removing';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const removing = fileURLToPath(new URL('removing-updater.mjs', import.meta.url));

/** Clears the engine and creates the shape's scene; each stage has its own repository. */
export async function setStage(lab: Lab, engine: LabEngine, shape: Shape, updater: Updater = 'upkeep'): Promise<Stage> {
  await engine.clear();
  const repository = `rig/${engine.name}`;
  const image = `${lab.registry.host}/${repository}:stable`;
  const old = await pushImage(lab.registry, repository, 'stable', shape.old);
  await engine.pull(image);
  await shape.scene(engine, image, `127.0.77.${Number(/\d+$/.exec(engine.name)?.[0] ?? 0) + 1}`);
  const next = await pushImage(lab.registry, repository, 'stable', shape.next);
  if (engine.settle !== undefined) {
    // An engine does not sync the layers of an image, so a power cut after the pull would destroy them.
    await engine.pull(`${image.slice(0, image.lastIndexOf(':'))}@${next.digest}`);
    engine.settle();
  }
  const names = Object.keys(shape.containers);
  const run = (args: readonly string[], circumstances: Circumstances = {}) =>
    runUpdater(
      engine,
      (socket) =>
        updater === 'removing'
          ? [removing, socket, ...names]
          : [main, ...brief, ...args, ...(shape.flags ?? []), '--host', `unix://${socket}`],
      circumstances,
    );
  const struck = (strike: Strike | undefined): Circumstances =>
    strike === undefined ? {} : { rules: (kill) => [{ at: strike.change, fault: strike.fault(kill) }] };
  return {
    engine,
    image,
    versions: { old, next },
    update: (strike) => run(['update', '--json'], struck(strike)),
    startAgain: (strike) => run(['update', 'no-such-container'], struck(strike)),
    run,
  };
}

/** Seconds instead of minutes, unless the command has its own value. */
const brief = ['--health-window', '500ms', '--no-color'];

async function runUpdater(
  engine: LabEngine,
  command: (socket: string) => readonly string[],
  { rules, watch, env, within = [] }: Circumstances,
): Promise<Run> {
  const socketPath = join(mkdtempSync(join(engine.dir, 'p-')), 's');
  const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
  try {
    const [program, ...args] = [...within, process.execPath, ...command(socketPath)] as [string, ...string[]];
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'], HOME: engine.dir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 300_000,
      killSignal: 'SIGKILL',
    });
    for (const rule of rules?.(() => child.kill('SIGKILL')) ?? []) proxy.arm(rule);
    watch?.(proxy);
    return { ...(await ended(child)), changes: proxy.calls.filter(({ change }) => change !== undefined) };
  } finally {
    await proxy.close();
  }
}

function ended(child: ChildProcess): Promise<Omit<Run, 'changes'>> {
  let [stdout, output] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, output }));
  });
}
