import { isIntercepted, isRefusedByProxy, tokenHeader } from './client.ts';

/** The kind of a stream's end. `refused` is permanent, `ended` is not. */
export type StreamEnd = 'refused' | 'ended';

export type StreamListener = {
  readonly onOpen: () => void;
  /** `id`: empty for a step of a run. */
  readonly onEvent: (text: string, id: string) => void;
  /** Called for each sign of life. */
  readonly onSign?: () => void;
};

/** The events after `since`, the id of one; empty: those from now on. */
export type StreamRequest = { readonly token: string; readonly since: string };

/**
 * Follows `GET /v1/events` with its steps until it ends. The token is in a header. The service sends a sign of life
 * every 15 s; after three missing signs the stream counts as dead.
 */
export async function followEvents(
  { url, token, since, signal }: StreamRequest & { readonly url: string; readonly signal: AbortSignal },
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
      headers: {
        ...tokenHeader(token),
        Accept: 'text/event-stream',
        ...(since !== '' && { 'Last-Event-ID': since }),
      },
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'manual',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (isIntercepted(response, 'text/event-stream')) return 'ended';
    if (!response.ok || response.body === null)
      return isFinal(response.status) && !isRefusedByProxy(response, await response.text()) ? 'refused' : 'ended';
    onOpen();
    const read = createFrameReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'ended';
      alive();
      for (const { data, id } of read(value)) onEvent(data, id);
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

type StreamFrame = { readonly data: string; readonly id: string };

/**
 * Reads a stream of server-sent events in pieces, and returns the data and id of each complete frame. A frame beyond the bound
 * is dropped: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function createFrameReader(maxCharacters = 1_000_000): (text: string) => readonly StreamFrame[] {
  let rest = '';
  let isSkipping = false;
  return (text) => {
    rest += text;
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop() ?? '';
    const frames = parts.slice(isSkipping ? 1 : 0).flatMap(frameOf);
    if (parts.length > 0) isSkipping = false;
    if (rest.length > maxCharacters) {
      rest = '';
      isSkipping = true;
    }
    return frames;
  };
}

function frameOf(text: string): readonly StreamFrame[] {
  const lines = text.split(/\r?\n/);
  const data = lines.flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []);
  const id = lines.flatMap((line) => /^id: ?(.*)$/.exec(line)?.[1] ?? []).at(-1) ?? '';
  return data.length === 0 ? [] : [{ data: data.join('\n'), id }];
}
