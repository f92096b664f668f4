/** The end of a text stream of any length. */
export type TextTail = {
  readonly add: (chunk: Uint8Array) => void;
  readonly text: () => string;
};

/** Most bytes that are kept. */
const keptBytes = 65_536;

/** Keeps the last 64 kB, in at most three times as much memory. */
export function createTextTail(): TextTail {
  let kept: Uint8Array[] = [];
  let keptLength = 0;
  return {
    add(chunk) {
      kept.push(chunk);
      keptLength += chunk.length;
      if (keptLength <= 2 * keptBytes) return;
      kept = [Buffer.concat(kept).subarray(-keptBytes)];
      keptLength = keptBytes;
    },
    text() {
      const end = Buffer.concat(kept).subarray(-keptBytes);
      return end.subarray(startOfCharacter(end)).toString('utf8');
    },
  };
}

/** Skips the rest of a character that was cut: https://www.rfc-editor.org/rfc/rfc3629#section-3 */
function startOfCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}
