import { createHash } from 'node:crypto';
import type { Digest } from '../../src/domain/reference/digest.ts';

/** Makes ids that look random and are the same in every run. */
export type IdSource = (kind: string) => string;

export function createIdSource(seed: string): IdSource {
  let count = 0;
  return (kind) => hex(`${seed}/${kind}/${count++}`);
}

/** Digest of the data's content, the same for every caller. */
export function digestOf(data: unknown): Digest {
  return `sha256:${hex(JSON.stringify(data))}`;
}

function hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
