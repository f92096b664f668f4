import { parseJson, type JsonObject } from '../../../domain/text/json-value.ts';
import { fields } from '../transport/json-fields.ts';

/** One entry of a list: its value, or the readable beginning of an entry above the limit. */
export type ListEntry =
  | { readonly kind: 'whole'; readonly value: unknown; readonly bytes: number }
  | { readonly kind: 'large'; readonly beginning: JsonObject };

export type ListEntries = {
  /** Throws a `SyntaxError` unless the text is a list of JSON values. */
  readonly push: (chunk: Uint8Array) => readonly ListEntry[];
  /** Throws a `SyntaxError` if the list has not ended. */
  readonly end: () => void;
};

/**
 * Splits a JSON list into entries while it arrives, in chunks of any size. It keeps at most `limitBytes` of an entry,
 * so one large entry does not make the others unreadable.
 */
export function createListEntries(limitBytes: number): ListEntries {
  let place: 'before' | 'within' | 'after' = 'before';
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  let entries = 0;
  let pieces: Uint8Array[] = [];
  let length = 0;
  /** The end of the entry's last complete field within the limit; 0 if there is none. */
  let fieldsEnd = 0;

  /** Bytes beyond the limit are counted, not kept. */
  function keep(piece: Uint8Array): void {
    const room = limitBytes - length;
    if (room > 0 && piece.length > 0) pieces.push(piece.length > room ? piece.subarray(0, room) : piece);
    length += piece.length;
  }

  function take(): ListEntry {
    const kept = Buffer.concat(pieces);
    const bytes = length;
    const cut = fieldsEnd;
    pieces = [];
    length = 0;
    fieldsEnd = 0;
    entries += 1;
    if (bytes > limitBytes) return { kind: 'large', beginning: beginningOf(kept.toString('utf8', 0, cut)) };
    return { kind: 'whole', value: JSON.parse(kept.toString('utf8')), bytes };
  }

  function push(chunk: Uint8Array): readonly ListEntry[] {
    const found: ListEntry[] = [];
    let start = 0;
    let nextQuote = -1;
    let nextBackslash = -1;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (place !== 'within') {
        if (isBlank(byte)) continue;
        if (place === 'after' || byte !== openList) throw new SyntaxError('not a list');
        place = 'within';
        start = at + 1;
      } else if (inText) {
        if (isEscaped) isEscaped = false;
        else {
          // Strings make up most of a list, so the scan jumps to the end of each.
          if (nextQuote < at) nextQuote = indexOrEnd(chunk, quote, at);
          if (nextBackslash < at) nextBackslash = indexOrEnd(chunk, backslash, at);
          at = Math.min(nextQuote, nextBackslash);
          if (at === chunk.length) break;
          if (at === nextBackslash) isEscaped = true;
          else inText = false;
        }
      } else if (byte === quote) inText = true;
      else if (byte === openObject || byte === openList) depth += 1;
      else if (depth > 0 && (byte === closeObject || byte === closeList)) depth -= 1;
      else if (byte === comma && depth === 1) {
        const end = length + at - start;
        if (end < limitBytes) fieldsEnd = end;
      } else if (depth === 0 && (byte === comma || byte === closeList)) {
        keep(chunk.subarray(start, at));
        start = at + 1;
        if (byte === comma || entries > 0 || pieces.some((piece) => !piece.every(isBlank))) found.push(take());
        if (byte === closeList) place = 'after';
      }
    }
    if (place === 'within') keep(chunk.subarray(start));
    return found;
  }

  return {
    push,
    end: () => {
      if (place !== 'after') throw new SyntaxError('the list does not end');
    },
  };
}

const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];

function indexOrEnd(chunk: Uint8Array, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found === -1 ? chunk.length : found;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Closes an object that was cut after one of its fields. */
function beginningOf(cut: string): JsonObject {
  return fields(parseJson(`${cut}}`));
}
