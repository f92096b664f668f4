/** The groups of endpoints, by the names that users give. */
export const endpointGroups = [
  'health',
  'update',
  'metrics',
  'containers',
  'check',
  'history',
  'decisions',
  'images',
  'config',
  'events',
  'swagger',
  'dashboard',
  'webhooks',
] as const;

/** Parts of the HTTP interface that are switched on by name. */
export type EndpointGroup = (typeof endpointGroups)[number];

/** Settings of the HTTP API, named like their options. */
export type HttpSettings = {
  /** Undefined: all interfaces of the machine. */
  readonly host: string | undefined;
  /** 0: a free port. */
  readonly port: number;
  /** Empty: no API. */
  readonly groups: readonly EndpointGroup[];
  readonly token: TokenSource | undefined;
  readonly eventsToken: TokenSource | undefined;
  /** The secrets of registries that send webhooks. Undefined: their endpoint is off. */
  readonly webhookSecret: TokenSource | undefined;
  /** Whether a webhook also asks for an update, as `POST /v1/update?image=` does. */
  readonly webhookUpdate: boolean;
  /** Requests a client may make in any 60 seconds. */
  readonly rateLimit: number;
  /** The same for a session of the page. */
  readonly sessionRateLimit: number;
  /** A file with the scrypt hash of a password. Undefined: none. */
  readonly passwordFile: string | undefined;
  /** The files of `token` and `eventsToken` that the first start makes, because none was given. */
  readonly madeTokens: readonly string[];
  readonly checkTimeoutMs: number;
  readonly updateTimeoutMs: number;
  /** Undefined: plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Addresses and CIDR ranges. Empty: proxy headers are ignored. */
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: string;
  /** Origins, also patterns such as `https://*.example.com`, or `*`. Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  /** True if `GET /v1/update` acts like POST. */
  readonly watchtowerCompat: boolean;
  /** The path in front of all others, such as `/upkeep`, which a request may have or not. Empty: none. */
  readonly basePath: string;
  /** Whether each container has metrics of its own. */
  readonly containerMetrics: boolean;
};

/** A token file is read at each use, so that a rotated secret needs no restart. */
export type TokenSource =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'file'; readonly path: string };

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };
