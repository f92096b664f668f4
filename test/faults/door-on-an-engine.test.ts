import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { isPodman } from '../lab/engine/podman.ts';
import type { Moment } from '../lab/proxy/fault-proxy.ts';
import type { LabRegistry } from '../lab/registry/registry.ts';
import { skipBecause } from '../lab/skip-because.ts';
import { updateDoor } from './rig/door.ts';

/**
 * A helper replaces the proxy through which Upkeep reaches a real engine, and the helper or Upkeep is killed at the calls
 * of this update. The engine restarts containers by their policy.
 */
describeInLab('killed at the calls of an update of the engine’s door', (lab) => {
  const engines = new Map<boolean, LabEngine>();
  let registry: LabRegistry;
  beforeAll(async () => {
    registry = await lab.startRegistry({ address: '198.18.0.1' });
    for (const good of [true, false]) {
      const name = good ? 'door1' : 'door2';
      engines.set(good, await lab.startEngine({ name, args: ['--insecure-registry', '198.18.0.0/16'] }));
    }
  });
  afterAll(async () => {
    for (const engine of engines.values()) await engine.remove();
    await registry.remove();
  });

  /** One moment at every fifth call. `--campaign P` strikes at every call. */
  const momentsAt = (change: number): readonly Moment[] =>
    change % 5 === 3 ? [change % 2 === 0 ? 'before' : 'after'] : [];

  test.concurrent.for([
    ['good', true],
    ['bad', false],
  ] as const)('failure 42: a %s version: nothing is lost', { timeout: 3_600_000 }, async ([what, good], context) => {
    if (isPodman) skipBecause(context, 'the processes of a container are found otherwise there');
    const scene = { engine: engines.get(good)!, registry };
    const { calls, faults } = await updateDoor(scene, good);
    expect(faults).toEqual([]);
    expect(calls.length).toBeGreaterThan(10);
    const lost: string[] = [];
    let points = 0;
    for (const { change = 0, method, path } of calls) {
      for (const when of momentsAt(change)) {
        const struck = await updateDoor(scene, good, { change, fault: (kill) => ({ kind: 'kill', when, kill }) });
        points += 1;
        if (struck.faults.length > 0)
          lost.push(`${when} ${change} (${method} ${path.slice(0, 80)}): ${struck.faults.join('; ')}`);
      }
    }
    console.log(`RESULT a ${what} version of the door: ${points} points, ${lost.length} lost`);
    expect(lost).toEqual([]);
  });
});
