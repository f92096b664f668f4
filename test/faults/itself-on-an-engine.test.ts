import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { createFaultProxy, type Moment, type ProxiedCall } from '../lab/proxy/fault-proxy.ts';
import { imageIdOf } from '../lab/engine/image-id.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { skipBecause } from '../lab/skip-because.ts';
import { startInContainer, upkeepImage } from '../support/scene/upkeep-in-a-container.ts';
import { atRest, killUpkeep } from './rig/lives.ts';

/**
 * Upkeep replaces its own container on a real engine, and is killed at the calls of this update: the helper if there is
 * one, else the service. The engine restarts containers by their policy.
 */
describeInLab('killed at the calls of an update of its own container', (lab) => {
  const engines = new Map<boolean, LabEngine>();
  beforeAll(async () => {
    for (const good of [true, false]) engines.set(good, await lab.startEngine({ name: good ? 'itself' : 'itself2' }));
  });
  afterAll(async () => {
    for (const engine of engines.values()) await engine.remove();
  });

  type Outcome = { readonly calls: readonly ProxiedCall[]; readonly faults: readonly string[] };

  async function update(good: boolean, strike?: { readonly change: number; readonly when: Moment }): Promise<Outcome> {
    const engine = engines.get(good)!;
    await engine.clear();
    const repository = `rig/${engine.name}`;
    let killed = 0;
    const socketPath = join(mkdtempSync(join(engine.dir, 'p-')), 's');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    try {
      if (strike !== undefined) {
        const kill = () => void (killed += killUpkeep(repository));
        proxy.arm({ at: strike.change, fault: { kind: 'kill', when: strike.when, kill } });
      }
      const next = upkeepImage('v2', good ? {} : { Entrypoint: ['sh', '-c', 'exit 3'] });
      const { id, old, next: pushed } = await startInContainer(lab, engine, { socket: socketPath, next, repository });
      const faults = await atRest(engine, ['upkeep'], () => killed > 0);
      if (strike !== undefined && killed === 0) faults.push('no process was killed');
      const now = await engine.inspect('upkeep');
      const isNew = now?.Image === imageIdOf(pushed);
      if (!isNew && now?.Id !== id) faults.push('it is not the container that it was');
      if (isNew && !good) faults.push('it stayed on a bad version');
      if (!isNew && now?.Image !== imageIdOf(old)) faults.push('it runs a third image');
      if (strike === undefined && isNew !== good) faults.push(`it runs ${isNew ? 'the new' : 'the old'} version`);
      if (now?.HostConfig.RestartPolicy.Name !== 'unless-stopped') faults.push('it has another restart policy');
      return { calls: proxy.calls.filter(({ change }) => change !== undefined), faults };
    } finally {
      await engine.clear();
      await proxy.close();
    }
  }

  /** With `all`, both moments at every call, in a quarter of an hour; else one at every fifth call. */
  const momentsAt = (change: number): readonly Moment[] => {
    if (process.env['UPKEEP_FAULTS'] === 'all') return ['before', 'after'];
    return change % 5 === 3 ? [change % 2 === 0 ? 'before' : 'after'] : [];
  };

  test.concurrent.for([
    ['good', true],
    ['bad', false],
  ] as const)('a %s version: nothing is lost', { timeout: 3_600_000 }, async ([what, good], context) => {
    if (isPodman) skipBecause(context, 'the processes of a container are found otherwise there');
    const { calls, faults } = await update(good);
    expect(faults).toEqual([]);
    expect(calls.length).toBeGreaterThan(10);
    const lost: string[] = [];
    let points = 0;
    for (const { change = 0, method, path } of calls) {
      for (const when of momentsAt(change)) {
        const struck = await update(good, { change, when });
        points += 1;
        if (struck.faults.length > 0)
          lost.push(`${when} ${change} (${method} ${path.slice(0, 80)}): ${struck.faults.join('; ')}`);
      }
    }
    console.log(`RESULT a ${what} version of Upkeep itself: ${points} points, ${lost.length} lost`);
    expect(lost).toEqual([]);
  });
});
