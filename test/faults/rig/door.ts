import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { imageIdOf } from '../../lab/engine/image-id.ts';
import { createFaultProxy, type Fault, type ProxiedCall } from '../../lab/proxy/fault-proxy.ts';
import type { LabRegistry } from '../../lab/registry/registry.ts';
import { startBehindProxy } from '../../support/scene/behind-a-proxy.ts';
import { logOf, socketProxyImage } from '../../support/scene/upkeep-in-a-container.ts';
import { atRest, killUpkeep } from './lives.ts';

export type DoorRun = { readonly calls: readonly ProxiedCall[]; readonly faults: readonly string[] };

export type DoorStrike = {
  /** The number of the changing call, of the service or of the helper. */
  readonly change: number;
  /** `kill` ends the helper if there is one, else the service. */
  readonly fault: (kill: () => void) => Fault;
  /** Starts of the engine, which must be complete before the inspection. */
  readonly restarts?: readonly Promise<unknown>[];
  /**
   * The fault kills dockerd, whose next start stops the surviving containers and leaves `unless-stopped` ones down. All
   * have the policy `always` then.
   */
  readonly engineDies?: boolean;
};

/** Updates the engine's door once, good or bad, with a fault at one call. Resolves when nothing changes any more. */
export async function updateDoor(
  { engine, registry }: { readonly engine: LabEngine; readonly registry: LabRegistry },
  good: boolean,
  strike?: DoorStrike,
): Promise<DoorRun> {
  await engine.clear();
  const repository = `door/${engine.name}`;
  let struck = 0;
  const { restarts = [], engineDies = false } = strike ?? {};
  const policy = engineDies ? 'always' : 'unless-stopped';
  const host = { RestartPolicy: { Name: policy, MaximumRetryCount: 0 } };
  const socketPath = join(mkdtempSync(join(engine.dir, 'p-')), 's');
  const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
  const faults: string[] = [];
  try {
    if (strike !== undefined)
      proxy.arm({ at: strike.change, fault: strike.fault(() => void (struck += killUpkeep(repository))) });
    const next = socketProxyImage('v2', good ? {} : { Entrypoint: ['sh', '-c', 'exit 3'] });
    const { door, upkeep, oldDoor, nextDoor } = await startBehindProxy(
      { engine, registry },
      { socket: socketPath, repository, next, door: { host }, upkeep: { host } },
    );
    faults.push(...(await atRest(engine, ['socket-proxy', 'upkeep'], () => struck + restarts.length > 0)));
    await Promise.all(restarts);
    const now = await engine.inspect('socket-proxy');
    const isNew = now?.Image === imageIdOf(nextDoor);
    if (!isNew && now?.Id !== door) faults.push('the door is not the container that it was');
    if (isNew && !good) faults.push('the door stayed on a bad version');
    if (!isNew && now?.Image !== imageIdOf(oldDoor)) faults.push('the door runs a third image');
    if (strike === undefined && isNew !== good) faults.push(`the door runs ${isNew ? 'the new' : 'the old'} version`);
    if (now?.HostConfig.RestartPolicy.Name !== policy) faults.push('the door has another restart policy');
    if ((await engine.inspect('upkeep'))?.Id !== upkeep) faults.push('Upkeep is not the container that it was');
    if (faults.length > 0) faults.push(await logOf(engine, 'upkeep'));
    return { calls: proxy.calls.filter(({ change }) => change !== undefined), faults };
  } finally {
    await engine.clear();
    await proxy.close();
  }
}
