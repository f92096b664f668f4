import { ServiceError } from '../../../domain/errors.ts';

/** A line of the engine's streams is some 300 bytes; an event carries all labels of a container. */
const maxLineBytes = 1_048_576;

/** The engine does not limit labels. A longer line counts as endless. */
const mostPassedBytes = 1_024 * maxLineBytes;

/** Replaces a line above the limit, if the stream continues after it. */
export const longLine = Symbol('a line that is too long');

export type LineLimits = {
  readonly limitBytes?: number;
  /** A line above the limit becomes a `longLine` instead of an error, up to 1 GB. */
  readonly passesLongLines?: boolean;
};

/**
 * The JSON values of a stream, one per line, in chunks of any size. Blank lines are skipped. Throws `engine-refused`
 * for a line that is not JSON or too long.
 */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
  { limitBytes = maxLineBytes, passesLongLines = false }: LineLimits = {},
): AsyncGenerator<unknown, void, undefined> {
  let begun: Uint8Array[] = [];
  let length = 0;

  function add(piece: Uint8Array): void {
    length += piece.length;
    if (length > limitBytes && length <= mostPassedBytes && passesLongLines) begun = [];
    else if (length > limitBytes)
      throw new ServiceError(
        'engine-refused',
        `Cannot read the engine's stream: a line is longer than ${limitBytes} bytes`,
      );
    else if (piece.length > 0) begun.push(piece);
  }

  function takeLine(): string | typeof longLine {
    const isLong = length > limitBytes;
    const line = Buffer.concat(begun).toString('utf8').trim();
    begun = [];
    length = 0;
    return isLong ? longLine : line;
  }

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      const line = takeLine();
      if (line !== '') yield parseLine(line);
    }
    add(chunk.subarray(start));
  }
  const last = takeLine();
  if (last !== '') yield parseLine(last);
}

const lineFeed = 0x0a;

function parseLine(line: string | typeof longLine): unknown {
  if (line === longLine) return line;
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new ServiceError('engine-refused', "Cannot read the engine's stream: a line is not JSON", { cause });
  }
}
