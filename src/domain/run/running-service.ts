/** What a running service tells over its HTTP API. Everything in it comes from outside and is not checked. */
export type RunningService = {
  /** The whole document, with its `api_version`. Throws a `ServiceError` that says why there is none. */
  readonly read: (what: ServiceDocument, signal: AbortSignal) => Promise<JsonObject>;
  /**
   * The events as they are sent, from now until the signal aborts. What is lost on the way is asked for
   * again; throws when that is refused, or the service stays away.
   */
  readonly follow: (signal: AbortSignal) => AsyncIterable<JsonObject>;
};

export type ServiceDocument = 'containers/details' | 'history' | 'config';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
