import type { ImageReference } from '../../../domain/image/image-reference.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { Credentials, Login } from '../auth/credentials.ts';
import type { Scheme } from '../auth/hosts.ts';
import { cachedFor } from '../async/cached-for.ts';
import { noRetries, usualRetries, type RetryBounds } from '../limits/throttle.ts';

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

export type EndpointOptions = {
  readonly clock: Clock;
  readonly log?: Log | undefined;
  readonly credentials: Credentials;
  /** Base URLs from the engine. */
  readonly hubMirrors: (signal?: AbortSignal) => Promise<readonly string[]>;
};

export type EndpointsOf = (reference: ImageReference, signal?: AbortSignal) => Promise<readonly Endpoint[]>;

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
