import { createAgents } from '../../http/agents.ts';
import { createAuthorities, type SystemTrust, type TlsVersion } from '../../http/certificates.ts';
import { createAuthorize } from '../auth/authorization.ts';
import { createClient } from './client.ts';
import { createCredentials, type CredentialOptions } from '../auth/credentials.ts';
import { createEndpoints } from './endpoints.ts';
import { createExchange, followingRedirects, createSentSecrets } from '../../http/exchange.ts';
import { createRegistryTimes } from '../transport/registry-times.ts';
import { createHosts } from '../auth/hosts.ts';
import { createInsecure } from '../transport/insecure.ts';
import { createProxyChoice, type ProxyOptions } from '../../http/proxy.ts';
import { usualRetries } from '../limits/throttle.ts';
import { createTokens } from '../auth/tokens.ts';

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
export function connect(options: OciRegistryOptions) {
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
