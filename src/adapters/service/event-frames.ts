/** One frame of https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export type EventFrame = {
  readonly id?: string;
  /** The pause before the next connection. */
  readonly retryMs?: number;
  /** Empty for a comment. */
  readonly data: string;
};

/** Throws a `RangeError` for a frame that does not end within 1 MiB. */
export async function* framesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EventFrame> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split(/\r\n\r\n|\n\n|\r\r/);
    text = frames.pop() ?? '';
    for (const frame of frames) yield readFrame(frame);
    if (text.length > largestFrame) throw new RangeError('A frame of the stream of events does not end');
  }
}

const largestFrame = 1024 * 1024;

function readFrame(text: string): EventFrame {
  const data: string[] = [];
  let id: string | undefined;
  let retryMs: number | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else if (name === 'id' && /^[\x21-\x7e]{1,200}$/.test(value)) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }
  return { data: data.join('\n'), ...(id !== undefined && { id }), ...(retryMs !== undefined && { retryMs }) };
}
