import type {
  DescribeRequest,
  Registry,
  RegistryCredentials,
  RemoteConfig,
  RemoteImage,
  TagList,
} from '../../domain/outside/registry.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { SharedRecords } from '../../domain/outside/outside.ts';
import {
  familiarReference,
  repositoryName,
  type Digest,
  type ImageReference,
} from '../../domain/image/image-reference.ts';
import { formatPlatform, type Platform } from '../../domain/image/platform.ts';
import type { FoundSignatures } from '../../domain/image/signature.ts';
import { pullScope, createClient } from './client.ts';
import { createCredentials, hubKey, type Login, type CredentialOptions } from './credentials.ts';
import { describeImage, fetchPlatforms, parseWholeConfig } from './describe-image.ts';
import {
  HttpFailure,
  createTickBatches,
  createExchange,
  followingRedirects,
  createSentSecrets,
} from '../http/exchange.ts';
import { createLru } from '../../domain/text/plain-data.ts';
import { findSignatures } from './find-signatures.ts';
import { fetchBlob, resolveTag, type RepositoryEndpoint, type TagState } from './manifest.ts';
import { createSingleFlight, usualRetries } from './throttle.ts';
import { createListingCache, listTags as askForTags, type StoredListing, type KnownPages } from './list-tags.ts';
import { orAborted } from '../../domain/concurrency.ts';
import {
  createAgents,
  createAuthorities,
  createProxyChoice,
  type SystemTrust,
  type TlsVersion,
  type ProxyOptions,
} from '../http/agents.ts';
import { createAuthorize, createTokens } from './tokens.ts';
import { createEndpoints, createInsecure, createRegistryTimes, createHosts } from './hosts.ts';

export type StoredListings = {
  /** Keeps tag lists for later processes. By default they end with this process. */
  readonly listings?: SharedRecords<StoredListing> | undefined;
};

/** A `Registry` over the OCI distribution protocol: https://github.com/opencontainers/distribution-spec/blob/main/spec.md */
export function createOciRegistry(options: OciRegistryOptions & StoredListings): Registry {
  const { clock, log } = options;
  const { client, credentials, endpointsOf, hostOf, timeAt: timeOf, showable, close } = connect(options);
  const tags = createLru<TagState>(maxTags);
  /** The host of the registry or mirror, by repository. */
  const answeredBy = createLru<string>(maxTags);
  const images = createLru<RemoteImage>(maxImages);
  const resolving = createSingleFlight<Digest>();
  const listings = createListingCache(options.listings);
  const listing = createSingleFlight<TagList>();
  const seeking = createSingleFlight<FoundSignatures>();
  const listingPlatforms = createSingleFlight<readonly Platform[]>();
  const describing = createSingleFlight<RemoteImage>();
  const readingConfigs = createSingleFlight<RemoteConfig>();
  const inTurn = createTickBatches(requestsInTurn);

  const closeAll = () => Promise.all([close(), listings.flush()]).then(() => undefined);
  const questions = { resolve, listTags, describe, configOf, platformsOf, signaturesOf };
  return { prepare, ...questions, credentialsFor, timeAt, close: closeAll };

  function timeAt(reference: ImageReference): number | undefined {
    const host = answeredBy.get(repositoryName(reference));
    return host === undefined ? undefined : timeOf(host);
  }

  /** Each call replaces the list of the previous call. */
  async function prepare(references: readonly ImageReference[], signal?: AbortSignal): Promise<void> {
    const scopes = new Map<string, Set<string>>();
    for (const reference of references) {
      if (reference.digest !== undefined && reference.tag === undefined) continue;
      for (const { host } of await endpointsOf(reference, signal))
        scopes.set(host, (scopes.get(host) ?? new Set()).add(pullScope(reference.repository)));
    }
    for (const [host, foreseen] of scopes) hostOf(host).foreseen = [...foreseen];
  }

  function resolve(reference: ImageReference, signal?: AbortSignal): Promise<Digest> {
    const { digest, tag = 'latest' } = reference;
    if (digest !== undefined && reference.tag === undefined) return Promise.resolve(digest);
    const find = async (place: RepositoryEndpoint, shared: AbortSignal): Promise<Digest> => {
      const key = `${addressOf(place)}:${tag}`;
      const state = await resolveTag(client, place, tag, tags.get(key), shared);
      tags.set(key, state);
      return state.digest;
    };
    const key = `${repositoryName(reference)}:${tag}`;
    const ask = async (shared: AbortSignal): Promise<Digest> => {
      await new Promise<void>(inTurn);
      return firstOf(reference, 'check', find, shared);
    };
    return resolving(key, ask, signal);
  }

  /** A mirror may list only the tags that it has served, so it comes last. */
  function listTags(reference: ImageReference, signal?: AbortSignal): Promise<TagList> {
    const find = async (place: RepositoryEndpoint, shared: AbortSignal): Promise<TagList> => {
      const key = addressOf(place);
      const known = await listings.find(key);
      const list = (from: KnownPages | undefined) =>
        askForTags(client, place, { known: from, nowMs: clock.monotonicMs }, shared);
      const listAnew = (error: unknown) => {
        if (known === undefined || !isPageRefused(error)) throw error;
        return list(undefined);
      };
      const { tags: found, isCut, pages } = await list(known).catch(listAnew);
      if (hasEtag(pages)) listings.note(key, pages);
      else listings.forget(key);
      return { tags: found, isCut };
    };
    const work = (shared: AbortSignal) => firstOf(reference, 'list the tags of', find, shared, true);
    return listing(repositoryName(reference), work, signal);
  }

  /** The content of a digest never changes, so it is requested once. */
  async function describe(request: DescribeRequest, signal?: AbortSignal): Promise<RemoteImage> {
    const { reference, digest, platform } = request;
    const key = `${digest} ${formatPlatform(platform)}`;
    const known = images.get(key);
    if (known !== undefined) return known;
    const find = (place: RepositoryEndpoint, shared: AbortSignal) =>
      describeImage(client, place, { digest, platform, showable }, shared);
    // Another repository with the same digest may fail, so it is no substitute.
    const flightKey = `${repositoryName(reference)}@${key}`;
    const image = await describing(flightKey, (shared) => firstOf(reference, 'look into', find, shared), signal);
    images.set(key, image);
    return image;
  }

  function configOf(
    reference: ImageReference,
    { configDigest }: Pick<RemoteImage, 'configDigest'>,
    signal?: AbortSignal,
  ): Promise<RemoteConfig> {
    const find = async (place: RepositoryEndpoint, shared: AbortSignal) =>
      parseWholeConfig(await fetchBlob(client, place, configDigest, shared));
    const work = (shared: AbortSignal) => firstOf(reference, 'read the configuration of', find, shared);
    return readingConfigs(`${repositoryName(reference)}@${configDigest}`, work, signal);
  }

  function platformsOf(reference: ImageReference, digest: Digest, signal?: AbortSignal): Promise<readonly Platform[]> {
    const find = (place: RepositoryEndpoint, shared: AbortSignal) => fetchPlatforms(client, place, digest, shared);
    const work = (shared: AbortSignal) => firstOf(reference, 'look into', find, shared);
    return listingPlatforms(`${repositoryName(reference)}@${digest}`, work, signal);
  }

  /** A mirror may not have signatures, so it comes last. All parts come from the endpoint of the first. */
  function signaturesOf(reference: ImageReference, digest: Digest, signal?: AbortSignal): Promise<FoundSignatures> {
    const doing = 'find the signatures of';
    const find = async (place: RepositoryEndpoint, shared: AbortSignal) => {
      const first = await findSignatures({ client, place, digest, monotonicMs: clock.monotonicMs }, shared);
      return sharedParts(first, (failure) =>
        explain(failure, doing, reference, { asked: place.endpoint.host, showable }),
      );
    };
    const work = (shared: AbortSignal) => firstOf(reference, doing, find, shared, true);
    return seeking(`${repositoryName(reference)}@${digest}`, work, signal);
  }

  async function credentialsFor(
    reference: ImageReference,
    signal?: AbortSignal,
  ): Promise<RegistryCredentials | undefined> {
    const registry = reference.registry.toLowerCase();
    try {
      return forEngine(await orAborted(credentials.find(registry, reference.repository), signal));
    } catch (error) {
      throw error instanceof HttpFailure
        ? explain(error, 'log in for', reference, { asked: registry, showable })
        : error;
    }
  }

  /** The first successful answer. If all fail, throws the failure of the registry itself, not of a mirror. */
  async function firstOf<Found>(
    reference: ImageReference,
    doing: string,
    find: (place: RepositoryEndpoint, signal: AbortSignal) => Promise<Found>,
    signal: AbortSignal,
    isMirrorLast = false,
  ): Promise<Found> {
    const places = await endpointsOf(reference, signal);
    const origin = places.at(-1);
    let failure: unknown;
    for (const endpoint of isMirrorLast ? places.toReversed() : places) {
      try {
        const found = await find({ endpoint, repository: reference.repository }, signal);
        answeredBy.set(repositoryName(reference), endpoint.host);
        return found;
      } catch (error) {
        if (!(error instanceof HttpFailure)) throw error;
        if (endpoint === origin) failure = explain(error, doing, reference, { asked: endpoint.host, showable });
        log?.debug('A request to a registry failed', { host: endpoint.host, why: error.message });
      }
    }
    throw failure;
  }
}

/** Requests per tick of the event loop: see `createTickBatches`. */
const requestsInTurn = 16;

const maxTags = 10_000;

const maxImages = 1000;

function addressOf({ endpoint, repository }: RepositoryEndpoint): string {
  return `${endpoint.host}${endpoint.prefix}/${repository}`;
}

/** The failure as a message: the action, the image, the host. */
function explain(
  failure: HttpFailure,
  doing: string,
  reference: ImageReference,
  { asked, showable }: { readonly asked: string; readonly showable: (words: string) => string },
): ServiceError {
  const { code, host = asked, message, retryAfterMs, cause } = failure;
  // The registry chooses the hosts of its tokens and blobs, so their names are untrusted text.
  const isShown = host === asked || showable(host) === host;
  const remedy = isShown ? failure.remedy : undefined;
  const where = isShown ? quoted(host) : `a host that ${quoted(asked)} named`;
  const what = `Cannot ${doing} ${quoted(familiarReference(reference), 300)} at ${where}: ${message}`;
  return new ServiceError(code === 'timeout' ? code : `registry-${code}`, what, { remedy, retryAfterMs, cause });
}

/** Callers of the first part share the later ones too: each is read once. */
function sharedParts({ found, next }: FoundSignatures, explained: (failure: HttpFailure) => Error): FoundSignatures {
  if (next === undefined) return { found };
  const reading = createSingleFlight<FoundSignatures>();
  let read: FoundSignatures | undefined;
  const readOn = async (signal: AbortSignal): Promise<FoundSignatures> => {
    try {
      read = sharedParts(await next(signal), explained);
      return read;
    } catch (error) {
      throw error instanceof HttpFailure ? explained(error) : error;
    }
  };
  return { found, next: async (signal) => read ?? (await reading('', readOn, signal)) };
}

/** The address of the page after an unchanged one may have expired. */
function isPageRefused(error: unknown): boolean {
  return error instanceof HttpFailure && (error.code === 'invalid' || error.code === 'not-found');
}

function hasEtag(pages: KnownPages): boolean {
  return [...pages.values()].some(({ etag }) => etag !== undefined);
}

function forEngine({ registry, credential }: Login): RegistryCredentials | undefined {
  if (credential === undefined) return undefined;
  return { ...credential, serverAddress: registry === 'docker.io' ? hubKey : registry };
}

export type OciRegistryOptions = Omit<CredentialOptions, 'helperDeadlineMs'> & {
  /** Upkeep's version, for the header `User-Agent`. */
  readonly version: string;
  /** Base URLs of mirrors of Docker Hub, as in the engine's info. */
  readonly hubMirrors?: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** Hosts (with port) and CIDR ranges that may be plain HTTP or unverified, as in the engine's info. */
  readonly insecureRegistries?: (signal?: AbortSignal) => Promise<readonly string[]>;
  /**
   * Every registry may use plain HTTP or an unverified certificate. Over plain HTTP, logins are sent only to registries
   * in `insecureRegistries`.
   */
  readonly tlsSkip?: boolean;
  readonly tlsMinVersion?: TlsVersion;
  /** PEM files of authorities that are trusted besides the well-known ones. */
  readonly extraCa?: readonly Buffer[];
  readonly systemTrust?: SystemTrust;
  /** Docker's folder of certificates per registry; `/etc/docker/certs.d` by default. */
  readonly certsFolder?: string;
  readonly proxy?: ProxyOptions;
  /** Time limit of one request, from connecting to the last byte; 30 s by default. */
  readonly requestDeadlineMs?: number;
};

/** Connects the parts of the client. The first request opens the first connection. */
function connect(options: OciRegistryOptions) {
  const { clock, log, version, requestDeadlineMs: deadlineMs = 30_000 } = options;
  const { hubMirrors = nothing, insecureRegistries = nothing, tlsSkip = false } = options;
  const { tlsMinVersion = 'TLSv1.2', extraCa = [], certsFolder = '/etc/docker/certs.d' } = options;

  const maySendPlainLogin = createInsecure({ clock, log, insecureRegistries });
  const isInsecure = tlsSkip ? () => Promise.resolve(true) : maySendPlainLogin;
  const agents = createAgents({
    clock,
    isInsecure,
    contextFor: createAuthorities({ tlsMinVersion, extraCa, systemTrust: options.systemTrust, certsFolder }),
    proxyFor: createProxyChoice(options.proxy ?? {}),
    maxSocketsPerOrigin: maxInFlightPerHost,
    deadlineMs,
  });
  const sent = createSentSecrets();
  const times = createRegistryTimes(clock);
  const ask = createExchange(agents, { deadlineMs, userAgent: `upkeep/${version}`, sent });
  const exchange = followingRedirects(times.noting(ask));
  const hostOf = createHosts({ clock, random: Math.random, maxInFlight: maxInFlightPerHost });
  const tokens = createTokens(clock, (request, signal) =>
    hostOf(request.url.host).throttle(() => exchange(request, signal), usualRetries, signal),
  );
  const credentials = createCredentials(options);
  return {
    client: createClient({
      hostOf,
      exchange,
      credentials,
      isInsecure,
      maySendPlainLogin,
      authorize: createAuthorize(tokens, { isInsecure, maySendPlainLogin, showable: sent.showable }),
    }),
    credentials,
    hostOf,
    timeAt: times.at,
    endpointsOf: createEndpoints({ clock, log, credentials, hubMirrors }),
    showable: sent.showable,
    close: agents.close,
  };
}

const maxInFlightPerHost = 64;

function nothing(): Promise<readonly string[]> {
  return Promise.resolve([]);
}
