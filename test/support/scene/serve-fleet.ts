import { expect, onTestFinished } from 'vitest';
import { dataOf, type EventReader } from '../http/event-reader.ts';
import { apiToken, ask, eventsToken } from '../http/http-scene.ts';
import { startUpkeep, type UpkeepOptions, type UpkeepProcess } from './run-upkeep.ts';

/** The built service over HTTP; it ends with the test. */
export type ServedFleet = {
  readonly pid: number;
  readonly service: UpkeepProcess;
  /** For `followEvents()`. */
  readonly url: string;
  readonly ask: (path: string, method?: string) => Promise<{ readonly status: number; readonly text: string }>;
  /** Like `ask`, with the reply parsed as JSON. */
  readonly read: <Document>(path: string, method?: string) => Promise<Document>;
  /** Resolves once this number of containers is listed. */
  readonly lists: (count: number) => Promise<void>;
  /** Whether the service reports the engine as reachable. */
  readonly isReachable: (engine: string) => Promise<boolean | undefined>;
  readonly stop: () => Promise<void>;
};

type Engines = { readonly engines: readonly { readonly name: string; readonly reachable: boolean }[] };

type FleetOptions = Omit<UpkeepOptions, 'socket' | 'onStart'> & {
  readonly args?: readonly string[];
  /** The API's and that of the events, or their files. */
  readonly tokens?: readonly [string, string];
};

export async function serveFleet(
  hosts: readonly string[],
  { args = [], tokens = [apiToken, eventsToken], ...options }: FleetOptions = {},
): Promise<ServedFleet> {
  const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0'];
  const given = ['--http-api-token', tokens[0], '--http-api-events-token', tokens[1]];
  const often = ['--http-api-rate-limit', '1000000'];
  const words = ['run', ...api, ...given, ...often, '--health-window', '1s', ...args, ...hosts];
  const service = startUpkeep(words, options);
  const stop = async () => {
    service.child.kill('SIGTERM');
    await service.ended;
  };
  onTestFinished(stop);
  await service.seen('"address":"');
  const url = /"address":"(http[^"]+)"/.exec(service.output())?.[1] ?? '';
  const asked = (path: string, method = 'GET') => ask(url, path, { method });
  const read = async <Document>(path: string, method?: string) => {
    const { status, text } = await asked(path, method);
    if (status >= 400) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as Document;
  };
  return {
    pid: service.child.pid ?? 0,
    service,
    url,
    ask: asked,
    read,
    stop,
    async isReachable(name) {
      const { engines } = await read<Engines>('/v1/engines');
      return engines.find((engine) => engine.name === name)?.reachable;
    },
    async lists(count) {
      const listed = async () => {
        const { containers = [] } = JSON.parse((await asked('/v1/containers')).text) as { containers?: unknown[] };
        return containers.length;
      };
      await expect.poll(listed, { timeout: 60_000, interval: 100 }).toBe(count);
    },
  };
}

/** The engines with a finished update. */
export function updatedEngines(events: EventReader): readonly string[] {
  return events
    .text()
    .split('\n\n')
    .map((frame) => dataOf(frame) as { type?: string; data?: { engine?: string } } | null)
    .flatMap((event) => (event?.type === 'update_completed' ? (event.data?.engine ?? []) : []));
}
