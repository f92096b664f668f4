import type { Image } from '../container.ts';
import type { KnownRequest } from './request/request.ts';

type Words = readonly string[] | null;

/**
 * `Entrypoint` and `Cmd` together, because the engine inherits `Cmd` only when both are empty, and `Entrypoint` only
 * when it is null. An empty list or `[""]` is therefore a setting: no entrypoint, regardless of the image. The engine
 * shows `[""]` as null.
 */
export function ownCommand({ container, oldImage }: KnownRequest): {
  readonly Entrypoint?: Words;
  readonly Cmd?: Words;
} {
  const { Entrypoint = null, Cmd = null } = container.settings.Config;
  const inheritsEntrypoint = sameWords(Entrypoint, entrypointOf(oldImage));
  if (inheritsEntrypoint && sameWords(Cmd, oldImage.config.Cmd)) return {};
  if (inheritsEntrypoint && !isEmpty(Cmd)) return { Cmd };
  return { Entrypoint: Entrypoint ?? [''], Cmd };
}

/** The entrypoint as containers of the image show it. `ENTRYPOINT [""]` in a Dockerfile means none. */
export function entrypointOf({ config }: Image): Words {
  const { Entrypoint = null } = config;
  return Entrypoint?.length === 1 && Entrypoint[0] === '' ? null : Entrypoint;
}

function sameWords(a: Words | undefined, b: Words | undefined): boolean {
  return JSON.stringify(a ?? []) === JSON.stringify(b ?? []);
}

function isEmpty(words: Words): boolean {
  return words === null || words.length === 0;
}
