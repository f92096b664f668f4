import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet, Release } from './fleet.ts';
import { listAll } from './inspection.ts';
import { type Service, startService } from './service.ts';

export type RoughRelease = {
  /** Number of kills of the service, and of the engine. */
  readonly deaths: number;
  readonly engineDeaths: number;
  /**
   * Number of containers that a crash of the engine left down while no update of them was running. Each was started
   * again.
   */
  readonly byEngine: number;
  /** Log of the service in all of its processes. */
  readonly log: readonly string[];
};

/** Starts and kills the service, and sometimes the engine, until all members have the release. Throws after two hours. */
export async function updateRoughly(
  fleet: Fleet,
  release: Release,
  below: (bound: number) => number,
): Promise<RoughRelease> {
  const deadlineMs = performance.now() + 2 * 3_600_000;
  const log: string[] = [];
  let [deaths, engineDeaths, byEngine, leaks] = [0, 0, 0, 0];
  while (!(await isThrough(fleet, release))) {
    if (performance.now() > deadlineMs) throw new Error(`The release is not through after ${deaths} deaths`);
    const service = startService(fleet.engine, ['--update-on-start']);
    await (below(3) === 0 ? service.listens() : service.hasRepaired());
    await sleep(below(maxMs));
    if (engineDeaths < maxEngineDeaths && below(6) === 0) {
      engineDeaths += 1;
      byEngine += await killEngine(fleet, service, below(500));
      await sleep(below(maxMs));
    }
    const lines = await service.kill();
    log.push(...lines);
    deaths += 1;
    const leak = lines.find((line) => line.includes('port is already allocated'));
    leaks = leak === undefined ? 0 : leaks + 1;
    if (leaks >= maxLeaks) throw new Error(`The engine has leaked a port (repeat with another --seed): ${leak}`);
  }
  return { deaths, engineDeaths, byEngine, log };
}

/** Time after it listens, or after it has repaired: enough for a few updates, or for none. */
const maxMs = 5000;

const maxEngineDeaths = 2;

/** Consecutive lives with a leaked port. Docker before 28 can leak one when it is killed during a start: https://github.com/moby/moby/issues/25981 */
const maxLeaks = 10;

/** All members, without any remains of an update. */
async function isThrough({ engine, members }: Fleet, { imageIds }: Release): Promise<boolean> {
  const all = new Map((await listAll(engine)).map(({ name, imageId }) => [name, imageId]));
  const isDone = members.every(({ name, repository }) => all.get(name) === imageIds.get(repository));
  return isDone && all.size === members.length;
}

/**
 * The service is paused while the engine starts again, so that the engine alone causes a container to be down. A
 * container outside of an update is started, as a person would; the service starts the others.
 */
async function killEngine({ engine, members }: Fleet, service: Service, aloneMs: number): Promise<number> {
  await engine.kill();
  await sleep(aloneMs);
  service.signal('SIGSTOP');
  await engine.start();
  const all = await listAll(engine);
  const isUnderWay = (name: string) => all.some((other) => other.name.startsWith(`${name}.upkeep-`));
  const isDown = (name: string) => all.some((one) => one.name === name && !one.runs);
  const down = members.filter(({ name, runs }) => runs && isDown(name) && !isUnderWay(name));
  for (const { name } of down) {
    const { status, body } = await engine.call('POST', `/containers/${name}/start`);
    if (status >= 400) throw new Error(`Cannot start "${name}", which the engine left down: ${JSON.stringify(body)}`);
  }
  service.signal('SIGCONT');
  return down.length;
}
