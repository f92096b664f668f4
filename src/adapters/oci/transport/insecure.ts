import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAddressList, loopback, splitHost, type AddressList } from '../../http/proxy.ts';
import { cachedFor } from '../async/cached-for.ts';
import { orAborted } from '../../../domain/concurrency.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';

export type InsecureOptions = {
  readonly clock: Clock;
  readonly log?: Log | undefined;
  /** Hosts (with port) and CIDR ranges, as in an engine's `insecure-registries`. */
  readonly insecureRegistries: (signal?: AbortSignal) => Promise<readonly string[]>;
};

/**
 * True if a host may use any certificate or plain HTTP, by the rules of the engine: this machine, a listed host, or a
 * name that resolves into a listed range. Never true for Docker Hub.
 * https://docs.docker.com/reference/cli/dockerd/#insecure-registries
 */
export function createInsecure({ clock, log, insecureRegistries }: InsecureOptions): IsInsecure {
  const read = async (signal: AbortSignal) => readList(await insecureRegistries(signal));
  const listed = cachedFor(clock, listTtlMs, read, (error) => {
    log?.warn('The insecure registries are unknown, so every registry needs a valid certificate', { error });
    return readList([]);
  });

  return async function isInsecure(host, signal) {
    const { name } = splitHost(host);
    if (name === 'localhost' || loopback.contains(name)) return true;
    if (name === 'docker.io' || name.endsWith('.docker.io')) return false;
    const { hosts, ranges } = await listed(signal);
    if (hosts.has(host.toLowerCase())) return true;
    if (ranges.isEmpty) return false;
    const addresses = await orAborted(addressesOf(name), signal);
    return addresses.some((address) => ranges.contains(address));
  };
}

export type IsInsecure = (host: string, signal?: AbortSignal) => Promise<boolean>;

const listTtlMs = 60_000;

const lookupDeadlineMs = 5000;

type List = { readonly hosts: ReadonlySet<string>; readonly ranges: AddressList };

function readList(entries: readonly string[]): List {
  return { hosts: new Set(entries.map((entry) => entry.toLowerCase())), ranges: createAddressList(entries) };
}

/** An unresolved name is in no range. The connection reports a better error. */
async function addressesOf(name: string): Promise<readonly string[]> {
  if (isIP(name) !== 0) return [name];
  const giveUp = new AbortController();
  const found = lookup(name, { all: true }).then(
    (all) => all.map(({ address }) => address),
    () => [],
  );
  const late = sleep(lookupDeadlineMs, [], { signal: giveUp.signal, ref: false }).catch(() => []);
  return Promise.race([found, late]).finally(() => giveUp.abort());
}
