/**
 * FNV-1a of 64 bits as 16 hex digits; shortens a text that may not fit its field:
 * https://www.rfc-editor.org/rfc/rfc9923
 */
export function fnv64(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}
