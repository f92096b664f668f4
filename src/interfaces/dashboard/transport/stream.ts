import { createFrameReader } from './frames.ts';
import type { Tokens } from './tokens.ts';

/** Why a stream is not there: `refused` will not change by asking again, `ended` may. */
export type StreamEnd = 'refused' | 'ended';

export type StreamParts = {
  readonly tokens: Tokens;
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onEvent: (text: string) => void;
};

/**
 * Follows `GET /v1/events`, the steps too, until it ends, with the token in the header. The service sends a sign of life every
 * 15 s; a stream that is silent for three of them is taken for dead.
 */
export async function followEvents({ tokens, signal, onOpen, onEvent }: StreamParts): Promise<StreamEnd> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), longestSilenceMs);
  const alive = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), longestSilenceMs);
  };
  try {
    const response = await fetch('v1/events?extra=true', {
      headers: { Authorization: `Bearer ${tokens.events()}`, Accept: 'text/event-stream' },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || response.body === null) return isFinal(response.status) ? 'refused' : 'ended';
    onOpen();
    const read = createFrameReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'ended';
      alive();
      for (const { data } of read(value)) onEvent(data);
    }
  } catch {
    return 'ended';
  } finally {
    clearTimeout(timer);
  }
}

const longestSilenceMs = 45_000;

/** No such token or no such group: another attempt would end alike. */
function isFinal(status: number): boolean {
  return status === 401 || status === 403 || status === 404;
}
