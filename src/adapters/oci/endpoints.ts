import type { ImageReference } from '../../domain/image/image-reference.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import type { Credentials, Login } from './credentials.ts';
import type { Scheme } from './hosts.ts';
import { cachedFor } from './single-flight.ts';
import { noRetries, usualRetries, type RetryBounds } from './throttle.ts';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressList } from '../../domain/settings/http-settings.ts';
import { createAddressList, loopback, splitHost } from '../http/proxy.ts';
import { orAborted } from '../../domain/concurrency.ts';

/** A host to request an image from. */
export type Endpoint = {
  /** Host with port, as in a URL. */
  readonly host: string;
  /** Path before `/v2/`; empty except for some mirrors. */
  readonly prefix: string;
  /** Undefined: https, or the scheme in which an insecure registry answers. */
  readonly scheme: Scheme | undefined;
  readonly patience: RetryBounds;
  readonly login: () => Promise<Login>;
  /** The target of another registry's redirect. */
  readonly isBehind?: true;
};

type EndpointOptions = {
  readonly clock: Clock;
  readonly log?: Log | undefined;
  readonly credentials: Credentials;
  /** Base URLs from the engine. */
  readonly hubMirrors: (signal?: AbortSignal) => Promise<readonly string[]>;
};

type EndpointsOf = (reference: ImageReference, signal?: AbortSignal) => Promise<readonly Endpoint[]>;

/**
 * The hosts to request an image from, in order. Mirrors replace only Docker Hub
 * (https://docs.docker.com/docker-hub/image-library/mirror/) and do not get a login for Docker Hub.
 */
export function createEndpoints({ clock, log, credentials, hubMirrors }: EndpointOptions): EndpointsOf {
  const read = async (signal: AbortSignal) => (await hubMirrors(signal)).flatMap(readMirror);
  const mirrors = cachedFor(clock, mirrorsTtlMs, read, (error) => {
    log?.warn('The mirrors of Docker Hub are unknown, so they are not used', { error });
    return [];
  });

  return async function endpointsOf({ registry, repository }, signal) {
    const isHub = registry === 'docker.io';
    const origin: Endpoint = {
      host: isHub ? hubHost : registry.toLowerCase(),
      prefix: '',
      scheme: undefined,
      patience: usualRetries,
      login: () => credentials.find(registry.toLowerCase(), repository),
    };
    return isHub ? [...(await mirrors(signal)), origin] : [origin];
  };

  function readMirror(text: string): Endpoint[] {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const scheme = schemes[url?.protocol ?? ''];
    if (url === undefined || scheme === undefined) return [];
    const prefix = url.pathname.replace(/\/+$/, '');
    return [{ host: url.host, prefix, scheme, patience: noRetries, login: () => credentials.findOwn(url.host) }];
  }
}

/** The API host of Docker Hub: https://docs.docker.com/docker-hub/usage/pulls/ */
const hubHost = 'registry-1.docker.io';

const mirrorsTtlMs = 60_000;

const schemes: Readonly<Record<string, Scheme>> = { 'https:': 'https', 'http:': 'http' };

type InsecureOptions = {
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
