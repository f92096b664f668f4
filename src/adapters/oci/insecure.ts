import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { createAddressList, loopback, splitHost, type AddressList } from './address-list.ts';
import { remembered } from './remembered.ts';
import type { Clock } from '../../domain/outside.ts';

export type InsecureOptions = {
  readonly clock: Clock;
  /** No registry at all has to prove who it is. */
  readonly tlsSkip: boolean;
  /** Hosts (with port) and CIDR ranges, as in an engine's `insecure-registries`. */
  readonly insecureRegistries: (signal?: AbortSignal) => Promise<readonly string[]>;
};

/**
 * Whether a host may show any certificate or speak plain HTTP, by the rules of the engine: it is
 * this machine, or listed, or its name leads into a listed range; Docker Hub never is.
 * https://docs.docker.com/reference/cli/dockerd/#insecure-registries
 */
export function createInsecure({ clock, tlsSkip, insecureRegistries }: InsecureOptions): IsInsecure {
  const listed = remembered(clock, listTtlMs, async (signal) => readList(await insecureRegistries(signal)));

  return async function isInsecure(host, signal) {
    const { name } = splitHost(host);
    if (tlsSkip || name === 'localhost' || loopback.contains(name)) return true;
    if (name === 'docker.io' || name.endsWith('.docker.io')) return false;
    const { hosts, ranges } = await listed(signal);
    if (hosts.has(host.toLowerCase())) return true;
    if (ranges.isEmpty) return false;
    return (await addressesOf(name)).some((address) => ranges.contains(address));
  };
}

export type IsInsecure = (host: string, signal?: AbortSignal) => Promise<boolean>;

const listTtlMs = 60_000;

type List = { readonly hosts: ReadonlySet<string>; readonly ranges: AddressList };

function readList(entries: readonly string[]): List {
  return { hosts: new Set(entries.map((entry) => entry.toLowerCase())), ranges: createAddressList(entries) };
}

/** A name that leads nowhere is in no range; the connection will say so better. */
async function addressesOf(name: string): Promise<readonly string[]> {
  if (isIP(name) !== 0) return [name];
  try {
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}
