/** One entry of an archive: text or bytes for a file, `link` for a symbolic link, neither for a folder. */
export type TarEntry = {
  readonly path: string;
  readonly content?: string | Uint8Array;
  readonly link?: string;
  /** Default 0755. */
  readonly mode?: number;
  /** User and group; default 0. */
  readonly owner?: number;
  /** Seconds since the epoch; default 0. */
  readonly mtime?: number;
};

const blockSize = 512;

/** A tar archive in memory, as ustar; paths have at most 100 bytes: https://www.gnu.org/software/tar/manual/html_node/Standard.html */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '');
    return [header(entry, content.length), content, Buffer.alloc(-content.length & (blockSize - 1))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * blockSize)]);
}

function header({ path, content, link, mode = 0o755, owner = 0, mtime = 0 }: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  const type = link !== undefined ? '2' : content !== undefined ? '0' : '5';
  block.write(path, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(owner, 7) + octal(owner, 7) + octal(size, 11) + octal(mtime, 11), 108);
  block.write(' '.repeat(8) + type + (link ?? ''), 148);
  block.write('ustar\u000000', 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${octal(sum, 6)} `, 148);
  return block;
}
