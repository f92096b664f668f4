/** How the page gets changes. */
export type LinkState = 'connecting' | 'live' | 'polling' | 'reconnecting' | 'offline';

/** The text in the top bar; empty before the first answer. */
export const linkWords: Readonly<Record<LinkState, string>> = {
  connecting: '',
  live: 'Live',
  polling: 'Every 10 s',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};
