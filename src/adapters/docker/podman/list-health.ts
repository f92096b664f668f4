import type { Client } from '../transport/client.ts';
import { type ListRead, readList } from '../reading/lists.ts';
import { fields, text } from '../transport/json-fields.ts';

/**
 * Entries of Podman's container list with the health in their status, as Docker has it. Only Podman's own list shows it.
 * Health stays unknown where a socket proxy refuses that list.
 */
export async function withHealth(
  client: Client,
  list: ListRead,
  entries: readonly unknown[],
): Promise<readonly unknown[]> {
  const own = await readList(client, { ...list, path: '/libpod/containers/json' }).catch(() => []);
  const healths = new Map(own.map(fields).map(({ Id, Status }) => [Id, text(Status)]));
  return entries.map((entry) => {
    const { Id, State, Status } = fields(entry);
    const health = State === 'running' ? (healths.get(Id) ?? '') : '';
    return health === '' ? entry : { ...fields(entry), Status: `${text(Status)} (${health})` };
  });
}
