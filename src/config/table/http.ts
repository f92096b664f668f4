import { isPeopleEntry } from '../../domain/access/rights.ts';
import {
  endpointGroups,
  parseIpAddress,
  parseIpRange,
  parseOriginPattern,
} from '../../domain/settings/http-settings.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from './option.ts';

const commands = ['run', 'demo'] as const;

const dayMs = 86_400_000;

/** https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
const headerName = {
  test: (text: string) => /^[\w!#$%&'*+.^`|~-]{1,64}$/.test(text),
  expected: 'the name of a header',
};

const people = {
  kind: 'list',
  separators: 'comma',
  placeholder: 'PERSON,…',
  accepts: {
    test: isPeopleEntry,
    expected: 'names, e-mail addresses, domains such as @example.com, or groups such as group:family',
  },
} as const;

/** The HTTP API: docs/http-api.md. */
export const httpOptions = optionTable({ group: 'http', commands }, {
  httpEndpoints: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'http-api-endpoints',
    placeholder: 'GROUP,…',
    defaultMeaning: 'none: no API',
    accepts: {
      test: (text) => text.toLowerCase() === 'all' || endpointGroups.some((name) => name === text.toLowerCase()),
      expected: `"all" alone, or some of ${endpointGroups.join(', ')}`,
    },
    meaning: `Groups of endpoints to serve: ${endpointGroups.join(', ')}; or "all". Switches periodic updates off, unless --http-api-periodic-polls is set`,
    example: 'health,update,metrics',
    isCommon: true,
  },
  httpToken: {
    kind: 'text',
    flag: 'http-api-token',
    placeholder: 'TOKEN',
    secret: true,
    meaning:
      'Token for all endpoints under /v1/ except events, or a file with one or with lines "NAME: TOKEN". With --state-dir, the first start makes one, which "upkeep token" shows',
    example: '/run/secrets/upkeep-token',
    isCommon: true,
    commands: [...commands, 'token'],
  },
  httpEventsToken: {
    kind: 'text',
    flag: 'http-api-events-token',
    placeholder: 'TOKEN',
    secret: true,
    meaning: 'Token for /v1/events, or a file as for --http-api-token',
    example: '/run/secrets/upkeep-events-token',
  },
  httpPasswordFile: {
    kind: 'text',
    flag: 'password-file',
    placeholder: 'FILE',
    defaultMeaning: 'password in --state-dir, if it exists',
    meaning: 'File with a password for the page, as "upkeep password" writes it',
    example: '/run/secrets/upkeep-password',
    commands: [...commands, 'password'],
  },
  httpHost: {
    kind: 'text',
    flag: 'http-api-host',
    placeholder: 'ADDRESS',
    defaultMeaning: 'all interfaces',
    accepts: { test: isHost, expected: 'an IP address or a host name' },
    meaning: 'Address to listen on',
    example: '127.0.0.1',
  },
  httpPort: {
    kind: 'integer',
    flag: 'http-api-port',
    default: 8080,
    min: 0,
    max: 65_535,
    meaning: 'Port to listen on; 0 means a free port, which is logged',
    example: '8443',
  },
  httpRateLimit: {
    kind: 'integer',
    flag: 'http-api-rate-limit',
    default: 60,
    min: -1_000_000_000,
    max: 1_000_000,
    meaning: 'Maximum requests per client and minute; 0: the default',
    example: '120',
  },
  httpSessionRateLimit: {
    kind: 'integer',
    flag: 'http-api-session-rate-limit',
    default: 600,
    min: 60,
    max: 1_000_000,
    meaning: 'Maximum requests per minute of a signed-in browser',
    example: '1200',
  },
  httpCheckTimeoutMs: {
    kind: 'duration',
    flag: 'http-api-check-timeout',
    default: 300_000,
    minMs: 1,
    maxMs: dayMs,
    meaning: 'Time limit for a check; a request can set a shorter one',
    example: '1m',
  },
  httpUpdateTimeoutMs: {
    kind: 'duration',
    flag: 'http-api-update-timeout',
    default: 600_000,
    minMs: 1,
    maxMs: dayMs,
    meaning: 'Time limit for an update, with its wait; requests can set a shorter one',
    example: '30m',
  },
  httpTlsCert: {
    kind: 'text',
    flag: 'http-api-tls-cert',
    placeholder: 'FILE',
    defaultMeaning: 'none: plain HTTP',
    meaning: 'PEM file with the certificate and its chain, for HTTPS',
    example: '/certs/upkeep.pem',
  },
  httpTlsKey: {
    kind: 'text',
    flag: 'http-api-tls-key',
    placeholder: 'FILE',
    defaultMeaning: 'none: plain HTTP',
    meaning: 'PEM file with the private key of the certificate',
    example: '/certs/upkeep-key.pem',
  },
  httpTrustedProxies: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'http-api-trusted-proxies',
    placeholder: 'RANGE,…',
    accepts: {
      test: (text) => parseIpRange(text) !== undefined,
      expected: 'IP addresses or ranges such as 10.0.0.0/8',
    },
    meaning: "Reverse proxies that may report the client's address and scheme",
    example: '10.0.0.0/8,192.168.1.1',
  },
  httpProxyHeader: {
    kind: 'text',
    flag: 'http-api-proxy-header',
    placeholder: 'NAME',
    default: 'X-Forwarded-For',
    accepts: headerName,
    meaning: "Header with the client's address from a trusted proxy",
    example: 'X-Real-IP',
  },
  httpBasePath: {
    kind: 'text',
    flag: 'http-api-base-path',
    placeholder: 'PATH',
    defaultMeaning: 'none: /',
    // https://www.rfc-editor.org/rfc/rfc3986#section-3.3
    accepts: {
      test: (text) => text.length <= 200 && /^\/?(?:[\w~-][\w.~-]*(?:\/[\w~-][\w.~-]*)*\/?)?$/.test(text),
      expected: 'a path such as /upkeep',
    },
    meaning: 'Sub-path that a reverse proxy does not remove',
    example: '/upkeep',
  },
  httpCorsOrigins: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'http-api-cors-origins',
    placeholder: 'ORIGIN,…',
    defaultMeaning: 'none: same origin only',
    accepts: {
      test: (text) => parseOriginPattern(text) !== undefined,
      expected: 'origins such as https://example.com, https://*.example.com or *',
    },
    meaning: 'Origins whose pages may use the API; * means all, without credentials',
    example: 'https://dash.example.com',
  },
  httpPeriodicPolls: {
    kind: 'boolean',
    flag: 'http-api-periodic-polls',
    meaning: 'Keep periodic updates while the HTTP API is on',
    commands: ['run'],
  },
  httpWatchtowerCompat: {
    kind: 'boolean',
    flag: 'http-api-watchtower-compat',
    meaning: 'Accept GET /v1/update like POST, for clients of the first Watchtower',
  },
  httpWebhookSecret: {
    kind: 'text',
    flag: 'http-api-webhook-secret',
    placeholder: 'SECRET',
    secret: true,
    defaultMeaning: 'none: no webhooks',
    meaning: 'Secret for webhooks of registries, or a file as for --http-api-token',
    example: '/run/secrets/upkeep-webhooks',
  },
  httpWebhookUpdate: {
    kind: 'boolean',
    flag: 'http-api-webhook-update',
    meaning: 'After a webhook, also update the containers of that image',
  },
  httpContainerMetrics: {
    kind: 'boolean',
    flag: 'http-api-container-metrics',
    default: true,
    meaning: 'Metrics of each container at /v1/metrics, for the first 1,000',
    example: 'false',
  },
  authHeader: {
    kind: 'text',
    flag: 'auth-header',
    placeholder: 'NAME',
    defaultMeaning: 'none: no proxy signs anyone in',
    accepts: headerName,
    meaning: 'Header in which a proxy of --http-api-trusted-proxies names the signed-in person',
    example: 'Remote-User',
  },
  authGroupsHeader: {
    kind: 'text',
    flag: 'auth-groups-header',
    placeholder: 'NAME',
    default: 'Remote-Groups',
    accepts: headerName,
    meaning: 'Header with the groups of that person, separated by commas, semicolons or |',
    example: 'X-Authentik-Groups',
  },
  authViewers: {
    ...people,
    flag: 'auth-viewers',
    meaning: 'People who may only read, as for --auth-admins',
    example: '@example.com',
  },
  authOperators: {
    ...people,
    flag: 'auth-operators',
    meaning: 'People who may also check, update, decide and roll back, as for --auth-admins',
    example: 'group:family',
  },
  authAdmins: {
    ...people,
    flag: 'auth-admins',
    meaning:
      'People with all rights, signed in by a proxy or an issuer: an e-mail address, a domain (@example.com), group:NAME, or a name in --auth-header',
    example: 'anna@example.com,group:admins',
  },
  oidcIssuer: {
    kind: 'text',
    flag: 'oidc-issuer',
    placeholder: 'URL',
    defaultMeaning: 'none: no sign-in with OpenID Connect',
    accepts: { test: isIssuer, expected: 'the URL of an issuer, such as https://auth.example.com' },
    meaning: 'Issuer of OpenID Connect that people sign in with',
    example: 'https://auth.example.com',
  },
  oidcClientId: {
    kind: 'text',
    flag: 'oidc-client-id',
    placeholder: 'ID',
    meaning: 'Id of this client at the issuer',
    example: 'upkeep',
  },
  oidcClientSecret: {
    kind: 'text',
    flag: 'oidc-client-secret',
    placeholder: 'SECRET',
    secret: true,
    defaultMeaning: 'none: a public client',
    meaning: 'Secret of this client, or a file with it',
    example: '/run/secrets/upkeep-oidc',
  },
  oidcScopes: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'oidc-scopes',
    placeholder: 'SCOPE,…',
    default: ['openid', 'profile', 'email'],
    accepts: { test: (text) => /^[\w.:/*-]{1,200}$/.test(text), expected: 'names of scopes' },
    meaning: 'Scopes to ask the issuer for; many need "groups" for groups',
    example: 'openid,profile,email,groups',
  },
  oidcRedirectUrl: {
    kind: 'text',
    flag: 'oidc-redirect-url',
    placeholder: 'URL',
    defaultMeaning: 'from the address of the request, as a trusted proxy reports it',
    accepts: {
      test: (text) => isIssuer(text) && new URL(text).pathname.endsWith('/v1/oidc-callback'),
      expected: 'a URL that ends with /v1/oidc-callback',
    },
    meaning: 'Address that the issuer sends people back to',
    example: 'https://upkeep.example.com/v1/oidc-callback',
  },
  oidcGroupsClaim: {
    kind: 'text',
    flag: 'oidc-groups-claim',
    placeholder: 'NAME',
    default: 'groups',
    accepts: { test: (text) => /^[\w:/.-]{1,200}$/.test(text), expected: 'the name of a claim' },
    meaning: 'Claim with the groups or roles of a person, or a path such as realm_access.roles',
    example: 'realm_access.roles',
  },
  httpContainers: {
    kind: 'boolean',
    flag: 'http-api-containers',
    meaning: 'Serve the group containers',
    deprecated: 'use --http-api-endpoints',
  },
  httpMetrics: {
    kind: 'boolean',
    flag: 'http-api-metrics',
    meaning: 'Serve the group metrics',
    deprecated: 'use --http-api-endpoints',
  },
  httpUpdate: {
    kind: 'boolean',
    flag: 'http-api-update',
    meaning: 'Serve the group update',
    deprecated: 'use --http-api-endpoints',
  },
} as const satisfies OptionParts);

/** Without credentials, query and fragment: https://openid.net/specs/openid-connect-discovery-1_0.html#IssuerDiscovery */
function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** The last part of a host name is never a number, so a mistyped address is not a host name. */
function isHost(text: string): boolean {
  if (parseIpAddress(text.replace(/^\[(.*)\]$/, '$1')) !== undefined) return true;
  return text.length <= 253 && /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)*[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/i.test(text);
}
