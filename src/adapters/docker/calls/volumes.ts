import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import { change } from './changes.ts';
import type { Client } from '../transport/client.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Volume/operation/VolumeDelete */
export function removeVolume(client: Client, name: string): Promise<CallOutcome> {
  return change(client, { method: 'DELETE', path: `/volumes/${encodeURIComponent(name)}`, absentIsNoop: true });
}
