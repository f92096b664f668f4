import type { DescribeRequest, Registry, RegistryCredentials, RemoteImage } from '../../domain/outside/registry.ts';
import type { Digest } from '../../domain/reference/digest.ts';
import { repositoryName, type ImageReference } from '../../domain/reference/image-reference.ts';
import { formatPlatform } from '../../domain/reference/platform.ts';
import { connect, type OciRegistryOptions } from './client/connect.ts';
import type { Login } from './auth/credentials.ts';
import { describeImage } from './manifests/describe-image.ts';
import { hubKey } from './auth/docker-config.ts';
import type { Endpoint } from './client/endpoints.ts';
import { explain, RegistryFailure } from './transport/failure.ts';
import { createLru } from './async/lru.ts';
import { resolveTag, type TagState } from './manifests/manifests.ts';
import { createSingleFlight } from './async/single-flight.ts';
import { createTurns } from './async/turns.ts';
import { until } from './async/until.ts';

/** A `Registry` over the OCI distribution protocol: https://github.com/opencontainers/distribution-spec/blob/main/spec.md */
export function createOciRegistry(options: OciRegistryOptions): Registry {
  const { log } = options;
  const { client, credentials, endpointsOf, showable, close } = connect(options);
  const tags = createLru<TagState>(maxTags);
  const images = createLru<RemoteImage>(maxImages);
  const resolving = createSingleFlight<Digest>();
  const describing = createSingleFlight<RemoteImage>();
  const inTurn = createTurns(requestsInTurn);

  return { resolve, describe, credentialsFor, close };

  function resolve(reference: ImageReference, signal?: AbortSignal): Promise<Digest> {
    const { repository, digest, tag = 'latest' } = reference;
    if (digest !== undefined && reference.tag === undefined) return Promise.resolve(digest);
    const find = async (endpoint: Endpoint, shared: AbortSignal): Promise<Digest> => {
      const key = `${endpoint.host}${endpoint.prefix}/${repository}:${tag}`;
      const state = await resolveTag(client, { endpoint, repository }, tag, tags.get(key), shared);
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

  /** Content that a digest names never changes, so it is asked for once. */
  async function describe(request: DescribeRequest, signal?: AbortSignal): Promise<RemoteImage> {
    const { reference, digest, platform } = request;
    const key = `${digest} ${formatPlatform(platform)}`;
    const known = images.get(key);
    if (known !== undefined) return known;
    const find = (endpoint: Endpoint, shared: AbortSignal): Promise<RemoteImage> =>
      describeImage(client, { endpoint, repository: reference.repository }, { digest, platform, showable }, shared);
    const image = await describing(key, (shared) => firstOf(reference, 'look into', find, shared), signal);
    images.set(key, image);
    return image;
  }

  async function credentialsFor(
    reference: ImageReference,
    signal?: AbortSignal,
  ): Promise<RegistryCredentials | undefined> {
    const registry = reference.registry.toLowerCase();
    try {
      return forEngine(await until(credentials.find(registry), signal));
    } catch (error) {
      throw error instanceof RegistryFailure
        ? explain(error, 'log in for', reference, { asked: registry, showable })
        : error;
    }
  }

  /** From the first place that has it; the failure of the last is the answer when none has. */
  async function firstOf<Found>(
    reference: ImageReference,
    doing: string,
    find: (endpoint: Endpoint, signal: AbortSignal) => Promise<Found>,
    signal: AbortSignal,
  ): Promise<Found> {
    let failure: unknown;
    for (const endpoint of await endpointsOf(reference, signal)) {
      try {
        return await find(endpoint, signal);
      } catch (error) {
        if (!(error instanceof RegistryFailure)) throw error;
        failure = explain(error, doing, reference, { asked: endpoint.host, showable });
        log?.debug('A registry did not help', { host: endpoint.host, why: error.message });
      }
    }
    throw failure;
  }
}

/** In a single turn no request would leave before the last is made; with a turn for each, every one would wake the network anew. */
const requestsInTurn = 16;

const maxTags = 10_000;

const maxImages = 1000;

function forEngine({ registry, credential }: Login): RegistryCredentials | undefined {
  if (credential === undefined) return undefined;
  return { ...credential, serverAddress: registry === 'docker.io' ? hubKey : registry };
}
