/** One frame of a stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export type Frame = { readonly id: string; readonly data: string };

/** Reads text in pieces, and returns each complete frame. A frame beyond the bound is dropped. */
export function createFrameReader(mostCharacters = 1_000_000): (text: string) => readonly Frame[] {
  let rest = '';
  let isSkipping = false;
  return (text) => {
    rest += text;
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop() ?? '';
    const frames = parts.slice(isSkipping && parts.length > 0 ? 1 : 0).flatMap(readFrame);
    if (parts.length > 0) isSkipping = false;
    if (rest.length > mostCharacters) {
      rest = '';
      isSkipping = true;
    }
    return frames;
  };
}

function readFrame(text: string): readonly Frame[] {
  let id = '';
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [, field, value = ''] = /^(id|data): ?(.*)$/.exec(line) ?? [];
    if (field === 'id') id = value;
    if (field === 'data') data.push(value);
  }
  return data.length === 0 ? [] : [{ id, data: data.join('\n') }];
}
