import { readFileSync } from 'node:fs';
import type { TokenSource } from '../domain/settings/http-settings.ts';
import { readTokens } from '../domain/settings/named-tokens.ts';

/** All tokens of a source; empty if there is none. */
export function tokensOf(source: TokenSource | undefined): readonly string[] {
  const text = textOf(source);
  if (text === undefined || source?.kind !== 'file') return text === undefined ? [] : [text];
  return readTokens(text).map(({ token }) => token);
}

function textOf(token: TokenSource | undefined): string | undefined {
  return token?.kind === 'file' ? readFileSync(token.path, 'utf8').trim() : token?.value;
}
