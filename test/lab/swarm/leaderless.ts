import { setTimeout as sleep } from 'node:timers/promises';
import type { SwarmClient } from './client.ts';

/** State of a manager, as it reports it. */
export type ManagerInfo = { readonly ControlAvailable: boolean; readonly Error: string };

/**
 * Resolves once the manager reports a problem of its swarm. A former leader needs some ten seconds to notice the loss
 * of the others, and answers from memory until then.
 */
export async function untilLeaderless(swarm: Pick<SwarmClient, 'send'>, socket: string): Promise<ManagerInfo> {
  const deadlineMs = performance.now() + maxMs;
  for (;;) {
    const { text } = await swarm.send({ path: '/info', socket, timeoutMs: maxMs });
    const { Swarm } = JSON.parse(text) as { readonly Swarm: ManagerInfo };
    if (Swarm.Error !== '') return Swarm;
    if (performance.now() > deadlineMs) throw new Error('The manager reported no problem of its swarm in time');
    await sleep(everyMs);
  }
}

const maxMs = 90_000;
const everyMs = 200;
