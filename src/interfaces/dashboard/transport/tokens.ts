/** The token of this tab, for a browser without cookies. It is forgotten when the tab is closed. */
export type Tokens = {
  /** Empty: none. */
  readonly api: () => string;
  readonly keep: (token: string) => void;
  readonly forget: () => void;
};

const apiKey = 'upkeep-token';

/** Stored in the tab's storage. If the browser refuses that, it stays in memory while the page is open. */
export function createTokens(): Tokens {
  let memory = '';
  const write = (value: string): void => {
    memory = value;
    try {
      sessionStorage.setItem(apiKey, value);
    } catch {
      // Private windows of some browsers have no storage.
    }
  };
  return {
    api() {
      try {
        return sessionStorage.getItem(apiKey) ?? memory;
      } catch {
        return memory;
      }
    },
    keep: write,
    forget: () => write(''),
  };
}

/** Whether an HTTP header can carry the token. `fetch` throws for other characters: https://fetch.spec.whatwg.org/#concept-header-value */
export function fitsHeader(token: string): boolean {
  return /^[\x21-\x7E\x80-\xFF]*$/.test(token);
}
