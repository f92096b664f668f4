import type { ValueKind } from './label-values.ts';

/** The signature that a new image needs: by any key, by one of these keys, or none. */
export type Signers =
  | { readonly kind: 'any' }
  | { readonly kind: 'keys'; readonly names: readonly string[] }
  | { readonly kind: 'off' };

export const signers: ValueKind<Signers> = {
  accepted: 'any, off, or at most 20 names of keys of --verify-key, separated by commas',
  parse: readSigners,
  print: (value) => (value.kind === 'keys' ? value.names.join(',') : value.kind),
};

const mostNames = 20;

/** A key is named after its file, so the name may contain any character but a separator. */
const keyName = /^[^,/\p{C}]{1,255}$/u;

function readSigners(text: string): Signers | undefined {
  const word = text.toLowerCase();
  if (word === 'any' || word === 'off') return { kind: word };
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const isList = names.length <= mostNames && names.every((name) => keyName.test(name));
  return isList ? { kind: 'keys', names } : undefined;
}
