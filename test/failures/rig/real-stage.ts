import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { catalogue } from '../../lab/registry/catalogue.ts';
import type { EngineClient, Inspected } from '../../lab/engine/engine-client.ts';
import { createFaultProxy, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import type { PushTarget } from '../../lab/registry/push.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { startUpkeep, type UpkeepRun } from '../../support/scene/run-upkeep.ts';
import { containerNames } from '../../faults/rig/inspection.ts';

/** A container by name; its tag has moved from `old` to `next`. */
export type RealCast = Readonly<
  Record<
    string,
    { readonly old?: ImageSpec; readonly next?: ImageSpec; readonly config?: object; readonly image?: string }
  >
>;

/** A real engine with containers whose images have newer versions, and the executable that updates them. */
export type RealStage = {
  readonly before: ReadonlyMap<string, Inspected>;
  /** Runs `upkeep update`; faults can be injected between it and the engine. */
  readonly update: (options?: RealUpdate) => Promise<RealReport>;
  /** A start that only repairs. */
  readonly startAgain: () => Promise<UpkeepRun>;
  /** Lost, stopped, changed or left-over objects; empty if there are none. */
  readonly harm: () => Promise<string[]>;
  readonly isReplaced: (name: string) => Promise<boolean>;
};

export type RealUpdate = {
  readonly args?: readonly string[];
  /** Called before the process makes its first call. */
  readonly arm?: (proxy: FaultProxy, child: ChildProcess) => void;
};

export type RealReport = UpkeepRun & {
  readonly outcomes: Readonly<Record<string, string>>;
  readonly reasons: Readonly<Record<string, string>>;
  /** The paths of the changing calls, without ids. */
  readonly changes: readonly string[];
};

/** The minimum for a container that stops quickly, and starts again with the engine. */
const always = { StopTimeout: 1, HostConfig: { RestartPolicy: { Name: 'always' } } };

export async function setRealStage(
  {
    engine,
    registry,
  }: {
    readonly engine: EngineClient & { readonly socket: string };
    readonly registry: PushTarget & { readonly host: string };
  },
  cast: RealCast,
): Promise<RealStage> {
  await engine.clear();
  for (const [name, { old = catalogue['plain-v1'], config = always, image = name }] of Object.entries(cast)) {
    await pushImage(registry, `failures/${image}`, 'stable', old);
    await engine.pull(`${registry.host}/failures/${image}:stable`);
    await engine.run(name, `${registry.host}/failures/${image}:stable`, config);
  }
  for (const [name, { next = catalogue['plain-v2'], image = name }] of Object.entries(cast))
    await pushImage(registry, `failures/${image}`, 'stable', next);
  const before = new Map<string, Inspected>();
  for (const name of Object.keys(cast)) before.set(name, (await engine.inspect(name))!);

  return {
    before,
    update: (options) => update(engine.socket, options),
    startAgain: () =>
      startUpkeep(['update', 'no-such-container', '--health-window', '500ms'], { socket: engine.socket }).ended,
    harm: () => harmOn(engine, before),
    isReplaced: async (name) => (await engine.inspect(name))?.Id !== before.get(name)?.Id,
  };
}

async function update(upstream: string, { args = [], arm }: RealUpdate = {}): Promise<RealReport> {
  const folder = mkdtempSync(join(dirname(upstream), 'p-'));
  const socket = join(folder, 's');
  const proxy = await createFaultProxy({ listen: { socketPath: socket }, upstream: { socketPath: upstream } });
  try {
    const { child, ended } = startUpkeep(['update', '--json', '--health-window', '500ms', ...args], { socket });
    arm?.(proxy, child);
    const run = await ended;
    const changes = proxy.calls.flatMap(({ change, method, path }) =>
      change === undefined ? [] : [`${method} ${path.replace(/\/[0-9a-f]{64}/g, '/ID')}`],
    );
    return { ...run, ...told(run), changes };
  } finally {
    await proxy.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Empty for a process that was killed before it wrote anything. */
function told({ stdout }: UpkeepRun): Pick<RealReport, 'outcomes' | 'reasons'> {
  // A run that fails as a whole has an error instead of containers.
  const { containers = [] } = (stdout.trim() === '' ? {} : JSON.parse(stdout)) as {
    containers?: { name: string; outcome: string; reason: string }[];
  };
  return {
    outcomes: Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome])),
    reasons: Object.fromEntries(containers.map(({ name, reason }) => [name, reason])),
  };
}

async function harmOn(engine: EngineClient, before: ReadonlyMap<string, Inspected>): Promise<string[]> {
  const names = await containerNames(engine);
  const harm = names.filter((name) => !before.has(name)).map((name) => `"${name}" is left over`);
  for (const [name, old] of before) {
    const now = await engine.inspect(name);
    if (now === undefined) harm.push(`"${name}" is lost`);
    else if (now.State.Running !== old.State.Running) harm.push(`"${name}" is ${now.State.Status}`);
    else if (policyOf(now) !== policyOf(old)) harm.push(`the policy of "${name}" is ${policyOf(now)}`);
  }
  return harm;
}

/** Docker 20.10 stores an omitted policy as an empty name. */
function policyOf({ HostConfig }: Inspected): string {
  return HostConfig.RestartPolicy.Name || 'no';
}
