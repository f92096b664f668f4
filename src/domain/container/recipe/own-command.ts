import type { Image } from '../container.ts';
import type { KnownRequest } from './request/request.ts';

type Words = readonly string[] | null;

/**
 * `Entrypoint` and `Cmd` together, because the engine inherits them together: `Cmd` only when both
 * are empty, `Entrypoint` only when it is null. A list of nothing or `[""]` thus is a setting: no
 * entrypoint, whatever the image says. The engine shows `[""]` as null.
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

/** Entrypoint as containers of the image show it; `ENTRYPOINT [""]` of a Dockerfile means none. */
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
