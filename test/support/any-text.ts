import * as fc from 'fast-check';

/** Includes lone surrogates. The unit `binary` of fast-check means the same, but first needs a second for its table. */
export const anyCodePoint = fc.nat(0x10_ffff).map((code) => String.fromCodePoint(code));

/** Any string, including names like `__proto__`. */
export function anyText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string(constraints), fc.string({ ...constraints, unit: anyCodePoint }));
}
