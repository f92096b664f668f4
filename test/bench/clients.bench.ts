import { test } from 'vitest';
import { createRecencyList, type Used } from '../../src/interfaces/http/guards/clients.ts';
import { median } from './rig/ratios.ts';

/** A flood of requests from addresses that each send one, at the bound of remembered clients. */

const clients = 100_000;
const maxRemembered = 65_536;
const runs = 3;

test('remembering the latest clients in a list, beside a Map', () => {
  const [inList, inMap] = [rememberInList, rememberInMap].map((remember) => {
    const times = Array.from({ length: runs }, () => {
      const begunAt = performance.now();
      remember();
      return performance.now() - begunAt;
    });
    return median(times);
  });
  console.log(`${clients} new clients: ${inList?.toFixed(0)} ms in the list, ${inMap?.toFixed(0)} ms in a Map`);
});

function rememberInList(): void {
  const list = createRecencyList<Used>();
  for (let size = 0; size < clients; size += 1) {
    list.moveToEnd({ before: undefined, after: undefined });
    const oldest = size < maxRemembered ? undefined : list.oldest();
    if (oldest !== undefined) list.remove(oldest);
  }
}

function rememberInMap(): void {
  const map = new Map<number, object>();
  for (let client = 0; client < clients; client += 1) {
    map.set(client, {});
    const [oldest] = map.size > maxRemembered ? map.keys() : [];
    if (oldest !== undefined) map.delete(oldest);
  }
}
