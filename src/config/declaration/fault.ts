import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { printable, quoted } from '../../domain/text/printable.ts';

/** An error in the user's configuration. */
export type Fault = {
  /** `usage`: the command line itself is wrong. `value`: a value in it, or in a variable, is wrong. */
  readonly kind: 'usage' | 'value';
  /** "Cannot <do what> to <which>: <why>", safe to print. */
  readonly message: string;
};

/** A value that was read, or why it cannot be used. */
export type Read<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'fault'; readonly fault: Fault };

/**
 * `source` is the flag or variable of the value. A secret value is not part of the message, and neither are the secret
 * parts of other values.
 */
export function refusedValue(source: string, text: string, expected: string, secret: boolean): Fault {
  const shown = secret ? '' : ` ${quoted(withoutSecretParts(text))}`;
  return { kind: 'value', message: `Cannot use ${printable(source, 100)}${shown}: expected ${expected}` };
}

/** 2, but 1 for a service that cannot start because of a value. */
export function exitCodeOf(faults: readonly Fault[], isService: boolean): 1 | 2 {
  return !isService || faults.some(({ kind }) => kind === 'usage') ? 2 : 1;
}
