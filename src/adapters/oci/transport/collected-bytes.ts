/** Bytes in one buffer that grows. */
export type CollectedBytes = {
  readonly add: (chunk: Uint8Array) => void;
  readonly bytes: () => Buffer;
};

/** Copies the chunks, because a list of them takes 200 bytes for each chunk, and a server may send chunks of one byte. */
export function collectBytes(): CollectedBytes {
  let room = Buffer.alloc(0);
  let length = 0;
  return {
    add(chunk) {
      const needed = length + chunk.length;
      if (needed > room.length) {
        const larger = Buffer.allocUnsafe(Math.max(needed, 2 * room.length));
        room.copy(larger, 0, 0, length);
        room = larger;
      }
      room.set(chunk, length);
      length = needed;
    },
    bytes: () => room.subarray(0, length),
  };
}
