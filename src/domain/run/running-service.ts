import type { JsonObject } from '../text/json.ts';

/** A running service, through its HTTP API. Its answers come from outside and are not validated. */
export type RunningService = {
  /** The whole document, with its `api_version`. Throws a `ServiceError` with the reason if it cannot be read. */
  readonly read: (document: ServiceDocument, signal: AbortSignal) => Promise<JsonObject>;
  /** Changes something and returns its document. Throws in the same way. */
  readonly send: (order: ServiceOrder, signal: AbortSignal) => Promise<JsonObject>;
  /**
   * Events from now until the signal aborts. Lost events are requested again. Throws if the service refuses or stays
   * unreachable.
   */
  readonly follow: (signal: AbortSignal) => AsyncIterable<JsonObject>;
};

export type ServiceDocument = 'containers/details' | 'history' | 'config' | 'decisions';

/** `body` is sent as JSON. */
export type ServiceOrder =
  | { readonly method: 'POST'; readonly what: 'decisions'; readonly body: JsonObject }
  | { readonly method: 'DELETE'; readonly what: `decisions/${string}`; readonly body?: undefined };
