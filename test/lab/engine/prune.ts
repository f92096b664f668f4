import type { EngineClient } from './engine-client.ts';

/** Removes what is unused, kind after kind, as `docker system prune --all` does. Images go with their tags. */
export async function prune(
  { call }: Pick<EngineClient, 'call'>,
  ...kinds: readonly ('containers' | 'networks' | 'images')[]
): Promise<void> {
  const withTags = `?filters=${encodeURIComponent('{"dangling":["false"]}')}`;
  for (const kind of kinds) await call('POST', `/${kind}/prune${kind === 'images' ? withTags : ''}`);
}
