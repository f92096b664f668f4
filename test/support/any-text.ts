import * as fc from 'fast-check';

/** Lone surrogates too. The unit `binary` of fast-check means the same, and first spends a second on a table of them all. */
export const anyCodePoint = fc.nat(0x10_ffff).map((code) => String.fromCodePoint(code));

/** Any string at all, names like `__proto__` too. */
export function anyText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string(constraints), fc.string({ ...constraints, unit: anyCodePoint }));
}
