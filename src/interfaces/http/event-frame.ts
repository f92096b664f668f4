import type { RunOptions } from './parts.ts';
import { payloadOf } from './event-payload.ts';
import type { LoggedEvent } from './service.ts';
import { toTimestamp } from './timestamps.ts';

/**
 * One event as it is sent: https://html.spec.whatwg.org/multipage/server-sent-events.html. Its id
 * begins with the stream's epoch, because numbers begin anew with every process. JSON has no line
 * breaks, and kinds are ours, so nothing can end a line early. Undefined for what is not streamed.
 */
export function frameOf({ id, event, atMs }: LoggedEvent, epoch: string, options: RunOptions): string | undefined {
  const data = payloadOf(event, options);
  if (data === undefined) return undefined;
  const json = JSON.stringify({ type: event.kind, timestamp: toTimestamp(atMs), data });
  return `id: ${epoch}-${id}\nevent: ${event.kind}\ndata: ${json}\n\n`;
}

/** The number of an id of this epoch; 0, before the first, for another epoch's; undefined for what is no id. */
export function numberOf(lastEventId: string | undefined, epoch: string): number | undefined {
  const [, itsEpoch, number = ''] = /^([a-z\d]{1,16})-(\d{1,15})$/.exec(lastEventId ?? '') ?? [];
  if (itsEpoch === undefined) return undefined;
  return itsEpoch === epoch ? Number(number) : 0;
}
