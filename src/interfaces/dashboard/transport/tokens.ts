/** The tokens of this tab; forgotten when it is closed. */
export type Tokens = {
  /** Empty: nobody is signed in. */
  readonly api: () => string;
  /** The token for the events: the API token where no other was given. */
  readonly events: () => string;
  /** Whether another one was given for the events. */
  readonly hasOwnEvents: () => boolean;
  readonly keep: (api: string, events: string) => void;
  readonly forget: () => void;
};

const apiKey = 'upkeep-token';
const eventsKey = 'upkeep-events-token';

/** Kept in the storage of the tab; where the browser refuses that, in memory for as long as the page is open. */
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
