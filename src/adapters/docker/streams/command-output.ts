/**
 * Joins standard output and error of a container without a terminal. The engine sends frames: an 8-byte header (the
 * stream's number, three zeros, the payload's length) and the payload. Each piece is yielded at once, so a large frame
 * costs no memory. https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerAttach
 */
export async function* logPayloads(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const header = Buffer.alloc(headerBytes);
  let headerFilled = 0;
  let payloadRemaining = 0;

  for await (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      if (payloadRemaining > 0) {
        const piece = chunk.subarray(at, at + payloadRemaining);
        at += piece.length;
        payloadRemaining -= piece.length;
        yield piece;
        continue;
      }
      const piece = chunk.subarray(at, at + headerBytes - headerFilled);
      header.set(piece, headerFilled);
      at += piece.length;
      headerFilled += piece.length;
      if (headerFilled < headerBytes) break;
      headerFilled = 0;
      payloadRemaining = header.readUInt32BE(lengthOffset);
    }
  }
}

const headerBytes = 8;
const lengthOffset = 4;

/** The end of a text stream of any length. */
export type TextTail = {
  readonly add: (chunk: Uint8Array) => void;
  readonly text: () => string;
};

/** Most bytes that are kept. */
const keptBytes = 65_536;

/** Keeps the last 64 kB in one buffer of twice that size. Chunks are copied, because each may be part of a large one. */
export function createTextTail(): TextTail {
  const kept = Buffer.alloc(2 * keptBytes);
  let filled = 0;
  return {
    add(chunk) {
      const added = chunk.subarray(-keptBytes);
      if (filled + added.length > kept.length) {
        kept.copyWithin(0, filled - keptBytes, filled);
        filled = keptBytes;
      }
      kept.set(added, filled);
      filled += added.length;
    },
    text() {
      const end = kept.subarray(Math.max(0, filled - keptBytes), filled);
      return end.subarray(startOfCharacter(end)).toString('utf8');
    },
  };
}

/** Skips the rest of a cut character: https://www.rfc-editor.org/rfc/rfc3629#section-3 */
function startOfCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}
