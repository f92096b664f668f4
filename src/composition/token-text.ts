import { readFileSync } from 'node:fs';
import type { TokenSource } from '../domain/settings/http-settings.ts';

export function textOf(token: TokenSource | undefined): string | undefined {
  return token?.kind === 'file' ? readFileSync(token.path, 'utf8').trim() : token?.value;
}
