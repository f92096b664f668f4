import type { Challenge } from './challenge.ts';
import { createLru } from '../../../domain/text/plain-data.ts';
import { createThrottle, type Throttle, type ThrottleOptions } from '../limits/throttle.ts';
import { orAborted } from '../../../domain/concurrency.ts';

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

export type HostOptions = Omit<ThrottleOptions, 'host'>;

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
