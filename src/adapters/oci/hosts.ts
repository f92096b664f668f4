import { createLru } from '../../domain/text/plain-data.ts';
import {
  createThrottle,
  noRetries,
  usualRetries,
  cachedFor,
  type Throttle,
  type ThrottleOptions,
  type RetryBounds,
} from './throttle.ts';
import { orAborted } from '../../domain/concurrency.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ImageReference } from '../../domain/image/image-reference.ts';
import type { Credentials, Login } from './credentials.ts';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressList } from '../../domain/settings/http-settings.ts';
import { createAddressList, loopback, splitHost } from '../http/agents.ts';

/** State of a host for the life of the process. */
export type HostState = {
  readonly throttle: Throttle;
  /** The host's challenge, so that later requests can answer it in advance. */
  challenge: Challenge | undefined;
  /** Scheme of the host; undefined while it is unknown or in doubt. */
  scheme: Scheme | undefined;
  /** True once the host has answered in a known scheme. */
  isKnown: boolean;
  /** Scopes of repositories that will be requested soon, in order. */
  foreseen: readonly string[];
  /**
   * Resolves when the host is known, or when this caller may send the first request. The first request is sent alone:
   * without the host's challenge, the others would be refused as well. Call the returned function after the first
   * answer or a failure.
   */
  readonly meet: (signal?: AbortSignal) => Promise<() => void>;
};

export type Scheme = 'https' | 'http';

type HostOptions = Omit<ThrottleOptions, 'host'>;

/** Returns the same `Host` for the same name and port. */
export function createHosts(options: HostOptions): (name: string) => HostState {
  const hosts = createLru<HostState>(maxHosts);
  return function hostOf(name) {
    const known = hosts.get(name);
    if (known !== undefined) return known;
    const host = createHost(createThrottle({ ...options, host: name }));
    hosts.set(name, host);
    return host;
  };
}

/** A hostile registry could name many realms. */
const maxHosts = 256;

function createHost(throttle: Throttle): HostState {
  let introduction: Promise<void> | undefined;
  const host: HostState = { throttle, challenge: undefined, scheme: undefined, isKnown: false, foreseen: [], meet };
  return host;

  async function meet(signal?: AbortSignal): Promise<() => void> {
    for (;;) {
      if (host.isKnown) return nothing;
      if (introduction === undefined) return introduce();
      await orAborted(introduction, signal);
    }
  }

  function introduce(): () => void {
    let done = nothing;
    const own = new Promise<void>((resolve) => {
      done = () => {
        if (introduction === own) introduction = undefined;
        resolve();
      };
    });
    introduction = own;
    return done;
  }
}

function nothing(): void {}

/** One authentication scheme that a server accepts, from `WWW-Authenticate`. */
export type Challenge = {
  /** In lower case: `bearer`, `basic`. */
  readonly scheme: string;
  /** Text after the scheme, unless it is a list of parameters. */
  readonly token68: string | undefined;
  /** By name in lower case. The first of a repeated name counts. */
  readonly parameters: ReadonlyMap<string, string>;
};

/**
 * Parses the challenges of a `WWW-Authenticate` field, or of several fields joined by commas. An unreadable part ends
 * the list: https://www.rfc-editor.org/rfc/rfc9110.html#section-11.6.1
 */
export function parseChallenges(field: string): readonly Challenge[] {
  const challenges: Challenge[] = [];
  const take = createReader(field);
  for (;;) {
    take(emptyElements);
    const scheme = take(token)?.[0];
    const challenge = scheme === undefined ? undefined : readChallenge(scheme.toLowerCase(), take);
    if (challenge === undefined) return challenges;
    challenges.push(challenge);
  }
}

const tokenText = "[\\w!#$%&'*+.^`|~-]+";
const elementEnd = String.raw`(?=[ \t]*(?:,|$))`;
const token = new RegExp(tokenText, 'y');
const emptyElements = /[ \t,]*/y;
const comma = /[ \t]*,[ \t,]*/y;
const end = new RegExp(elementEnd, 'y');
/** The end of the element must follow, because a parameter's `realm=` looks the same. */
const token68 = new RegExp(`[A-Za-z0-9._~+/-]+=*${elementEnd}`, 'y');
const quotedText = String.raw`"((?:[^"\\]|\\[^])*)"`;
const parameter = new RegExp(`(${tokenText})[ \\t]*=[ \\t]*(?:(${tokenText})|${quotedText})${elementEnd}`, 'y');

/** Matches a pattern at the current position and advances. Patterns are sticky, so reading is linear. */
type Take = (pattern: RegExp) => RegExpExecArray | undefined;

function createReader(text: string): Take {
  let position = 0;
  return function take(pattern) {
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (match === null) return undefined;
    position = pattern.lastIndex;
    return match;
  };
}

function readChallenge(scheme: string, take: Take): Challenge | undefined {
  const parameters = new Map<string, string>();
  const bare = take(/ +/y) === undefined ? undefined : take(token68)?.[0];
  if (bare !== undefined) return { scheme, token68: bare, parameters };
  let isWhole = take(end) !== undefined;
  take(comma);
  for (let found = take(parameter); found !== undefined; found = take(parameter)) {
    const [, name = '', plain, quoted = ''] = found;
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, plain ?? quoted.replaceAll(/\\([^])/g, '$1'));
    isWhole = true;
    if (take(comma) === undefined) break;
  }
  return isWhole ? { scheme, token68: undefined, parameters } : undefined;
}

/** The clocks of registries, from the `Date` of their answers, which come anyway. */
type RegistryTimes = {
  /** The same exchange, whose answers are noted. */
  readonly noting: (exchange: Exchange) => Exchange;
  /** Milliseconds since the epoch by the clock of a host. Undefined if it has told no time. */
  readonly at: (host: string) => number | undefined;
};

export function createRegistryTimes({ monotonicMs }: Pick<Clock, 'monotonicMs'>): RegistryTimes {
  const told = createLru<{ readonly dateMs: number; readonly atMs: number }>(maxClocks);
  return {
    noting: (exchange) => async (request, signal) => {
      const answer = await exchange(request, signal);
      const dateMs = readDate(answer.headers);
      if (dateMs !== undefined) told.set(keyOf(request.url.host), { dateMs, atMs: monotonicMs() });
      return answer;
    },
    at(host) {
      const last = told.get(keyOf(host));
      return last && last.dateMs + (monotonicMs() - last.atMs);
    },
  };
}

/** A URL leaves out the port of its scheme. */
function keyOf(host: string): string {
  return host.toLowerCase().replace(/:(?:443|80)$/, '');
}

/** A cache between has the date of the answer that it keeps, and adds its age: RFC 9111, section 5.1. */
function readDate({ date, age }: { readonly date?: string | undefined; readonly age?: string | undefined }) {
  const dateMs = Date.parse(date ?? '');
  const ageMs = /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0;
  return Number.isNaN(dateMs) ? undefined : dateMs + ageMs;
}

const maxClocks = 1000;

/** A host to request an image from. */
export type Endpoint = {
  /** Host with port, as in a URL. */
  readonly host: string;
  /** Path before `/v2/`; empty except for some mirrors. */
  readonly prefix: string;
  /** Undefined: https, or the scheme in which an insecure registry answers. */
  readonly scheme: Scheme | undefined;
  readonly retryBounds: RetryBounds;
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
      retryBounds: usualRetries,
      login: () => credentials.find(registry.toLowerCase(), repository),
    };
    return isHub ? [...(await mirrors(signal)), origin] : [origin];
  };

  function readMirror(text: string): Endpoint[] {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const scheme = schemes[url?.protocol ?? ''];
    if (url === undefined || scheme === undefined) return [];
    const prefix = url.pathname.replace(/\/+$/, '');
    return [{ host: url.host, prefix, scheme, retryBounds: noRetries, login: () => credentials.findOwn(url.host) }];
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
