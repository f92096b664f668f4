import type { Challenge } from './challenge.ts';
import { createLru } from '../async/lru.ts';
import { createThrottle, type Throttle, type ThrottleOptions } from '../limits/throttle.ts';
import { until } from '../async/until.ts';

/** State of a host, for the life of the process. */
export type Host = {
  readonly throttle: Throttle;
  /** How it wants to be convinced, so that the next request does not have to be refused first. */
  challenge: Challenge | undefined;
  /** Scheme of the host; undefined while it is unknown, or again in doubt. */
  scheme: Scheme | undefined;
  /** True once the host has answered in a known scheme. */
  isKnown: boolean;
  /** Scopes of repositories that will soon be asked about, in order. */
  foreseen: readonly string[];
  /**
   * Resolves when the host is known, or it is our turn to get to know it: the first request goes
   * alone, because the others would only be refused along with it. Then call the result after the
   * first answer, or without one.
   */
  readonly meet: (signal?: AbortSignal) => Promise<() => void>;
};

export type Scheme = 'https' | 'http';

export type HostOptions = Omit<ThrottleOptions, 'host'>;

/** Hands out the same `Host` for the same name and port. */
export function createHosts(options: HostOptions): (name: string) => Host {
  const hosts = createLru<Host>(maxHosts);
  return function hostOf(name) {
    const known = hosts.get(name);
    if (known !== undefined) return known;
    const host = createHost(createThrottle({ ...options, host: name }));
    hosts.set(name, host);
    return host;
  };
}

/** Realms are named by registries, so a hostile one could name many. */
const maxHosts = 256;

function createHost(throttle: Throttle): Host {
  let introduction: Promise<void> | undefined;
  const host: Host = { throttle, challenge: undefined, scheme: undefined, isKnown: false, foreseen: [], meet };
  return host;

  async function meet(signal?: AbortSignal): Promise<() => void> {
    for (;;) {
      if (host.isKnown) return nothing;
      if (introduction === undefined) return introduce();
      await until(introduction, signal);
    }
  }

  function introduce(): () => void {
    let done = nothing;
    const ours = new Promise<void>((resolve) => {
      done = () => {
        if (introduction === ours) introduction = undefined;
        resolve();
      };
    });
    introduction = ours;
    return done;
  }
}

function nothing(): void {}
