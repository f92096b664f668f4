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
] as const;

/** Parts of the HTTP interface that are switched on by name. */
export type EndpointGroup = (typeof endpointGroups)[number];

/** Settings of the HTTP interface, named like their options. */
export type HttpSettings = {
  /** Undefined: every interface of the machine. */
  readonly host: string | undefined;
  /** 0: one that is free. */
  readonly port: number;
  /** Empty: no API. */
  readonly groups: readonly EndpointGroup[];
  readonly token: TokenSource | undefined;
  readonly eventsToken: TokenSource | undefined;
  /** Requests a client may make in any 60 seconds. */
  readonly rateLimit: number;
  readonly checkTimeoutMs: number;
  readonly updateTimeoutMs: number;
  /** Undefined: plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Addresses and CIDR ranges; empty: proxy headers are not looked at. */
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: string;
  /** Origins, `https://*.example.com` among them, or `*`; empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  /** True if `GET /v1/update` acts like POST. */
  readonly watchtowerCompat: boolean;
};

/** A token file is read at each use of the token, so that a rotated secret needs no restart. */
export type TokenSource =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'file'; readonly path: string };

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };
