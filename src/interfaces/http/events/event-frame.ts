import type { ServiceEvent } from '../../../domain/run/event.ts';
import { toTimestamp } from '../../json/timestamps.ts';
import type { LoggedEvent, RunOptions, StepEvent } from '../service/parts.ts';
import { payloadOf, stepPayloadOf } from './event-payload.ts';

/**
 * The text of one event: https://html.spec.whatwg.org/multipage/server-sent-events.html. Its id begins with the
 * stream's epoch, because numbers start again with every process. Kinds are ours and JSON escapes line ends, so no
 * content can end a line. Undefined for events that are not streamed.
 */
export function frameOf({ id, event }: LoggedEvent, epoch: string, options: RunOptions): string | undefined {
  const data = payloadOf(event, options);
  return data === undefined ? undefined : `id: ${epoch}-${id}\n${contentOf(event, event.atMs, data)}`;
}

/** A step has no id: a client that resumes gets the events, but not each step again. */
export function stepFrameOf(event: StepEvent, atMs: number): string {
  return contentOf(event, atMs, stepPayloadOf(event));
}

/** Unknown values are undefined, which JSON omits. */
function contentOf({ kind, engine }: ServiceEvent, atMs: number, payload: object): string {
  const json = JSON.stringify({ type: kind, timestamp: toTimestamp(atMs), data: { ...payload, engine } });
  return `event: ${kind}\ndata: ${json.replace(otherLineEnds, escaped)}\n\n`;
}

/**
 * JSON does not escape these characters, and some clients end a line there:
 * https://docs.python.org/3/library/stdtypes.html#str.splitlines
 */
const otherLineEnds = /[\u0085\u2028\u2029]/g;

function escaped(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * The number of an id of this epoch; 0, before the first event, for an id of another epoch; undefined for any other
 * text.
 */
export function numberOf(lastEventId: string | undefined, epoch: string): number | undefined {
  const [, itsEpoch, number = ''] = /^([a-z\d]{1,16})-(\d{1,15})$/.exec(lastEventId ?? '') ?? [];
  if (itsEpoch === undefined) return undefined;
  return itsEpoch === epoch ? Number(number) : 0;
}
