import { encodedPart } from '../state/address.ts';

/** A name as a parameter of a request. The API takes patterns, so what means more than itself is escaped: https://github.com/google/re2/wiki/Syntax */
export function namePattern(name: string): string {
  return encodedPart(name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
}
