import { readAnswer } from '../transport/answer.ts';
import type { Client } from '../transport/client.ts';
import { refusal } from './reads.ts';

/**
 * Sends a ping without waiting for the API version, and on a connection that no other call can block.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemPing
 */
export async function ping(client: Client, signal?: AbortSignal): Promise<void> {
  const patience = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.sendUnversioned({ method: 'GET', path: '/_ping', socket: 'own', patience, signal });
  if (reply.kind === 'error') throw refusal('reach the engine', reply);
  await readAnswer(reply.body);
}
