import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { followEvents } from './stream.ts';

const tokens = (token: string) => ({
  api: () => token,
  events: () => token,
  hasOwnEvents: () => false,
  keep: () => undefined,
  forget: () => undefined,
});

test.each(['secret\u200B', 'sec…ret'])(
  'a token that no header can carry (%j) is refused, not an absent service',
  async (token) => {
    expect(await createClient(tokens(token))('v1/status')).toMatchObject({ kind: 'refused', status: 401 });
    const nothing = () => undefined;
    const { signal } = new AbortController();
    expect(await followEvents({ tokens: tokens(token), signal, onOpen: nothing, onEvent: nothing })).toBe('refused');
  },
);
