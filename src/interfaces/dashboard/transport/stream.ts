import { isIntercepted, tokenHeader } from './client.ts';

/** The kind of a stream's end. `refused` is permanent, `ended` is not. */
export type StreamEnd = 'refused' | 'ended';

export type StreamListener = {
  readonly onOpen: () => void;
  readonly onEvent: (text: string) => void;
  /** Called for each sign of life. */
  readonly onSign?: () => void;
};

/**
 * Follows `GET /v1/events` with its steps until it ends. The token is in a header. The service sends a sign of life
 * every 15 s; after three missing signs the stream counts as dead.
 */
export async function followEvents(
  { url, token, signal }: { readonly url: string; readonly token: string; readonly signal: AbortSignal },
  { onOpen, onEvent, onSign }: StreamListener,
): Promise<StreamEnd> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), maxSilenceMs);
  const alive = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), maxSilenceMs);
    onSign?.();
  };
  try {
    const response = await fetch(url, {
      headers: { ...tokenHeader(token), Accept: 'text/event-stream' },
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'manual',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (isIntercepted(response, 'text/event-stream')) return 'ended';
    if (!response.ok || response.body === null) return isFinal(response.status) ? 'refused' : 'ended';
    onOpen();
    const read = createFrameReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'ended';
      alive();
      for (const data of read(value)) onEvent(data);
    }
  } catch {
    return 'ended';
  } finally {
    clearTimeout(timer);
  }
}

export const maxSilenceMs = 45_000;

/** The token or the group is missing, so another attempt would fail too. */
function isFinal(status: number): boolean {
  return status === 401 || status === 403 || status === 404;
}

/**
 * Reads a stream of server-sent events in pieces, and returns the data of each complete frame. A frame beyond the bound
 * is dropped: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function createFrameReader(maxCharacters = 1_000_000): (text: string) => readonly string[] {
  let rest = '';
  let isSkipping = false;
  return (text) => {
    rest += text;
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop() ?? '';
    const frames = parts.slice(isSkipping ? 1 : 0).flatMap(dataOf);
    if (parts.length > 0) isSkipping = false;
    if (rest.length > maxCharacters) {
      rest = '';
      isSkipping = true;
    }
    return frames;
  };
}

function dataOf(text: string): readonly string[] {
  const data = text.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []);
  return data.length === 0 ? [] : [data.join('\n')];
}
