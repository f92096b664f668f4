import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import { markVariable } from '../../support/scene/upkeep-in-a-container.ts';

/**
 * SIGKILL to the processes of the helper if there is one, else of the service. `mark` is the repository of their scene.
 * Returns their number.
 */
export function killUpkeep(mark: string): number {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid: Number(pid), command: read(pid, 'cmdline'), environment: read(pid, 'environ') }))
    .filter(({ command }) => command.startsWith('/usr/bin/node\0/app/dist/main.js\0'))
    .filter(({ environment }) => environment.includes(`${markVariable}=${mark}\0`));
  const helpers = processes.filter(({ environment }) => environment.includes('UPKEEP_FINISH_UPDATE='));
  const struck = helpers.length > 0 ? helpers : processes;
  return struck.filter(({ pid }) => kill(pid)).length;
}

/** False if the process has already ended. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Waits until only containers with these names exist and run. After 400 s returns the actual containers as an error: a
 * start after a crash tries the update again, and a busy machine takes more than a minute for one try.
 * First waits for another state or a kill: on a busy machine the start alone takes longer than the awaited quiet period.
 */
export async function atRest(
  engine: Pick<EngineClient, 'call'>,
  names: readonly string[],
  isKilled: () => boolean,
): Promise<string[]> {
  const expected = names.map((name) => `/${name} running`).join(', ');
  let hasBegun = false;
  let quietSince = performance.now();
  let found = '';
  const deadline = performance.now() + 400_000;
  while (performance.now() < deadline) {
    found = await shown(engine).catch(() => 'no engine');
    hasBegun ||= isKilled() || found !== expected;
    if (!hasBegun || found !== expected) quietSince = performance.now();
    // Longer than a start takes until it creates a container.
    if (performance.now() - quietSince > 4000) return [];
    await sleep(100);
  }
  return [`there is ${found}`];
}

async function shown(engine: Pick<EngineClient, 'call'>): Promise<string> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  return (body as { Names: string[]; State: string }[])
    .map(({ Names, State }) => `${Names[0]} ${State}`)
    .toSorted()
    .join(', ');
}
