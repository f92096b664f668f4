import { randomBytes } from 'node:crypto';
import { orAborted } from '../../../domain/concurrency/or-aborted.ts';
import { type PermissionName, permissionNames } from '../../../domain/outside/permission.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { readAnswer } from '../transport/answer.ts';
import type { Call, Client } from '../transport/client.ts';
import { capabilitiesOf } from '../translate/capabilities.ts';

/** The forbidden calls of an update, in its order. Throws a `ServiceError` when the engine cannot be asked. */
export type AskPermissions = (signal?: AbortSignal) => Promise<readonly PermissionName[]>;

/**
 * Finds out which calls are forbidden, without a change: each is made once about an object that cannot exist. The
 * engine answers that there is none, a proxy before it that the call is forbidden. A result without forbidden calls is
 * remembered for an hour, any other one for seconds, so that a grant is noticed at once.
 */
export function createPermissions(client: Client): AskPermissions {
  const { clock } = client;
  let last: { readonly asked: Promise<readonly PermissionName[]>; untilMs: number } | undefined;

  async function ask(): Promise<readonly PermissionName[]> {
    const version = await client.version().catch(unlessDenied);
    const send = version === undefined ? client.sendUnversioned : client.send;
    const hasPolicies = version === undefined || capabilitiesOf(version).restartPolicies;
    const wanted = permissionNames.filter((name) => name !== 'policy' || hasPolicies);
    const id = `${absentIdStart}${randomBytes(16).toString('hex')}`;
    const answers = await Promise.all(wanted.map((name) => isForbidden(client, send, trials[name](id))));
    return wanted.filter((_, place) => answers[place]);
  }

  return (signal) => {
    if (last === undefined || clock.monotonicMs() >= last.untilMs) {
      const mine = { asked: ask(), untilMs: Infinity };
      last = mine;
      const keepFor = (ms: number) => void (mine.untilMs = clock.monotonicMs() + ms);
      mine.asked.then(
        (forbidden) => keepFor(forbidden.length === 0 ? permittedForMs : forbiddenForMs),
        () => keepFor(0),
      );
    }
    return orAborted(last.asked, signal);
  };
}

/** A change of a proxy's settings restarts it. */
const permittedForMs = 3_600_000;
/** One run asks once. */
const forbiddenForMs = 5_000;

/** Nobody can guess the other half, and create a container with this name. */
const absentIdStart = '0'.repeat(32);

/** An engine that may not be asked for its version can still be asked for the rest. */
function unlessDenied(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
}

async function isForbidden({ deadlines }: Client, send: Client['send'], trial: ReturnType<Trial>): Promise<boolean> {
  const patience = { for: 'whole', ms: deadlines.readMs } as const;
  const reply = await send({ ...trial, socket: 'shared', patience });
  if (reply.kind === 'error') return reply.isForbidden;
  await readAnswer(reply.body);
  return false;
}

type Trial = (id: string) => Pick<Call, 'method' | 'path' | 'query' | 'body'>;

const get = (path: string, query?: Record<string, string>) =>
  ({ method: 'GET', path, ...(query && { query }) }) as const;
const post = (path: string, more: Partial<Pick<Call, 'query' | 'body'>> = {}) =>
  ({ method: 'POST', path, ...more }) as const;
const remove = (path: string, query: Record<string, string>) => ({ method: 'DELETE', path, query }) as const;

const trials: Readonly<Record<PermissionName, Trial>> = {
  containers: (id) => get('/containers/json', { filters: JSON.stringify({ id: [id] }) }),
  inspect: (id) => get(`/containers/${id}/json`),
  images: () => get('/images/json', { filters: JSON.stringify({ reference: ['upkeep-absent:none'] }) }),
  inspectImage: (id) => get(`/images/sha256:${id}/json`),
  networks: (id) => get('/networks', { filters: JSON.stringify({ id: [id] }) }),
  // An invalid name, so that no registry is asked.
  pull: () => post('/images/create', { query: { fromImage: '-', tag: '-' } }),
  tag: (id) => post(`/images/sha256:${id}/tag`, { query: { repo: 'upkeep-absent', tag: 'none' } }),
  create: (id) => post('/containers/create', { query: { name: id }, body: { Image: `sha256:${id}` } }),
  connect: (id) => post(`/networks/${id}/connect`, { body: { Container: id } }),
  rename: (id) => post(`/containers/${id}/rename`, { query: { name: id } }),
  policy: (id) => post(`/containers/${id}/update`, { body: { RestartPolicy: { Name: 'no' } } }),
  stop: (id) => post(`/containers/${id}/stop`),
  start: (id) => post(`/containers/${id}/start`),
  wait: (id) => post(`/containers/${id}/wait`),
  logs: (id) => get(`/containers/${id}/logs`, { stdout: '1', tail: '1' }),
  info: () => get('/info'),
  // A second in 1970.
  events: () => get('/events', { since: '1', until: '2' }),
  remove: (id) => remove(`/containers/${id}`, { force: '0', v: '0' }),
  untag: (id) => remove(`/images/upkeep-absent:${id}`, { force: '0' }),
};
