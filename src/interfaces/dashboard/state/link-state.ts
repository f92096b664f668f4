/** How the page hears of changes. */
export type LinkState = 'connecting' | 'live' | 'polling' | 'reconnecting' | 'offline';

/** What the top bar calls it; before the first answer nothing. */
export const linkWords: Readonly<Record<LinkState, string>> = {
  connecting: '',
  live: 'Live',
  polling: 'Every 10 s',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};
