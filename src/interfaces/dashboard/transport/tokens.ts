/** The tokens of this tab. They are forgotten when it is closed. */
export type Tokens = {
  /** Empty: not signed in. */
  readonly api: () => string;
  /** The token for events: the API token by default. */
  readonly events: () => string;
  /** Whether a separate token was given for events. */
  readonly hasOwnEvents: () => boolean;
  readonly keep: (api: string, events: string) => void;
  readonly forget: () => void;
};

const apiKey = 'upkeep-token';
const eventsKey = 'upkeep-events-token';

/** Stored in the tab's storage. If the browser refuses that, they stay in memory while the page is open. */
export function createTokens(): Tokens {
  const memory = new Map<string, string>();
  const read = (key: string): string => {
    try {
      return sessionStorage.getItem(key) ?? memory.get(key) ?? '';
    } catch {
      return memory.get(key) ?? '';
    }
  };
  const write = (key: string, value: string): void => {
    memory.set(key, value);
    try {
      sessionStorage.setItem(key, value);
    } catch {
      // Private windows of some browsers have no storage.
    }
  };
  return {
    api: () => read(apiKey),
    events: () => read(eventsKey) || read(apiKey),
    hasOwnEvents: () => read(eventsKey) !== '' && read(eventsKey) !== read(apiKey),
    keep: (api, events) => {
      write(apiKey, api);
      write(eventsKey, events);
    },
    forget: () => {
      write(apiKey, '');
      write(eventsKey, '');
    },
  };
}

/** Whether an HTTP header can carry the token. `fetch` throws for other characters: https://fetch.spec.whatwg.org/#concept-header-value */
export function fitsHeader(token: string): boolean {
  return /^[\x21-\x7E\x80-\xFF]*$/.test(token);
}
