import type { ServerResponse } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { LimitedService } from '../service/limited-service.ts';
import type { EventLog, HttpLimits, RunOptions, LoggedEvent, StepEvent } from '../service/parts.ts';
import { percentOf, type CopyProgress, type ServiceEvent } from '../../../domain/run/event.ts';
import { toTimestamp } from '../../json/timestamps.ts';
import type { ContainerOutcome } from '../../../domain/run/session.ts';
import { composeEntry, downtimeEntry, tagChangeEntry } from '../../json/entries.ts';

/** The open streams of events. */
export type EventStreams = {
  readonly hasRoom: () => boolean;
  /** Sends the events after the id, if one is given, then all new ones. With `extra` also the steps. */
  readonly open: (response: ServerResponse, options: StreamOptions) => void;
  readonly count: () => number;
  /** Id of the newest event: a stream that is opened with it misses nothing that happens after now. */
  readonly lastEventId: () => string;
  /** Ends all streams and accepts no more. */
  readonly close: () => void;
};

type StreamOptions = {
  readonly lastEventId: string | undefined;
  readonly extra: boolean;
  /** Asked before anything is written. False: its token was taken back, or has other rights now. */
  readonly isAllowed: () => boolean;
  /** For a reader who may know some containers only. */
  readonly limitEvent?: LimitedService['limitEvent'];
};

type EventStreamsParts = {
  readonly eventLog: EventLog;
  readonly runOptions: RunOptions;
  readonly limits: Pick<HttpLimits, 'maxStreams' | 'streamBufferBytes' | 'heartbeatMs'>;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly log: Log;
  /** Letters and digits, unique to this process. */
  readonly epoch: string;
};

/**
 * Publishing only adds to a queue. The queue is written to the streams later, in batches. A reader that is too slow for
 * its buffer is disconnected, and resumes by the id of its last event.
 */
export function createEventStreams(parts: EventStreamsParts): EventStreams {
  const { eventLog, runOptions, limits, clock, log, epoch } = parts;
  const streams = new Set<Stream>();
  const { isDue } = createPullThrottle(clock);
  let pending: Frame[] = [];
  let lastPlace = 0;
  let isPumping = false;
  let isClosed = false;

  const unsubscribe = eventLog.subscribe((logged) => put({ extra: false, text: (limit) => textOf(logged, limit) }));
  const unsubscribeFromSteps = eventLog.subscribeToSteps((step) => {
    if (![...streams].some(({ extra }) => extra) || !isDue(step)) return;
    const atMs = clock.nowMs();
    put({
      extra: true,
      text: (limit) => {
        const event = limit === undefined ? step : limit(step);
        return event === undefined ? '' : stepFrameOf(event, atMs);
      },
    });
  });
  const heartbeat = setInterval(() => void writeToAll(() => ': still here\n\n'), limits.heartbeatMs);
  heartbeat.unref();

  function put(frame: Omit<Frame, 'place'>): void {
    pending.push({ ...frame, place: (lastPlace += 1) });
    if (!isPumping) void flushPending();
  }

  function textOf(logged: LoggedEvent, limit: StreamOptions['limitEvent']): string {
    const event = limit === undefined ? logged.event : limit(logged.event);
    return (event && frameOf({ ...logged, event }, epoch, runOptions)) ?? '';
  }

  async function flushPending(): Promise<void> {
    isPumping = true;
    await nextTick();
    // `close` empties the set of streams.
    while (pending.length > 0) {
      const taken = pending;
      const frames = taken.map(({ place, extra, text }) => ({ place, extra, text: text() }));
      pending = [];
      const first = frames[0]?.place ?? 0;
      const last = frames.at(-1)?.place ?? 0;
      const whole = { extra: Buffer.from(textFor(0, true, frames)), plain: Buffer.from(textFor(0, false, frames)) };
      await writeToAll((stream) => {
        const { extra, lastPlace: known, limitEvent: limit } = stream;
        stream.lastPlace = Math.max(known, last);
        if (limit !== undefined)
          return textFor(
            known,
            extra,
            taken.map((one) => ({ ...one, text: one.text(limit) })),
          );
        return known < first ? whole[extra ? 'extra' : 'plain'] : textFor(known, extra, frames);
      });
    }
    isPumping = false;
  }

  async function writeToAll(chunkFor: (stream: Stream) => string | Buffer): Promise<void> {
    let written = 0;
    for (const stream of streams) {
      write(stream, chunkFor(stream));
      written += 1;
      if (written % streamsAtOnce === 0) await nextTick();
    }
  }

  function write({ response, isAllowed }: Stream, chunk: string | Buffer): void {
    if (chunk.length === 0 || response.destroyed || response.writableEnded) return;
    // The reader connects again, and is told why not.
    if (!isAllowed()) return void response.end();
    response.write(chunk);
    if (response.writableLength <= limits.streamBufferBytes) return;
    log.warn('A reader of events is too slow and is disconnected', { buffered_bytes: response.writableLength });
    response.destroy();
  }

  return {
    hasRoom: () => !isClosed && streams.size < limits.maxStreams,
    open(response, { lastEventId, extra, isAllowed, limitEvent }) {
      const stream: Stream = { response, extra, isAllowed, lastPlace, ...(limitEvent && { limitEvent }) };
      streams.add(stream);
      response.once('close', () => streams.delete(stream));
      response.on('error', () => undefined);
      // The buffer limit does not apply yet: the missed events may exceed it.
      response.write(`retry: 5000\n\n${missedSince(lastEventId, limitEvent)}`);
    },
    count: () => streams.size,
    lastEventId: () => `${epoch}-${eventLog.lastId()}`,
    close() {
      isClosed = true;
      unsubscribe();
      unsubscribeFromSteps();
      clearInterval(heartbeat);
      for (const { response } of streams) response.end();
      streams.clear();
    },
  };

  function missedSince(lastEventId: string | undefined, limit: StreamOptions['limitEvent']): string {
    const number = numberOf(lastEventId, epoch);
    if (number === undefined) return '';
    return eventLog
      .since(number)
      .map((logged) => textOf(logged, limit))
      .join('');
  }
}

type Stream = {
  readonly response: ServerResponse;
  /** Whether it also gets the steps. */
  readonly extra: boolean;
  readonly isAllowed: StreamOptions['isAllowed'];
  readonly limitEvent?: LimitedService['limitEvent'];
  /** Place of the last event sent to it, or published before it connected. */
  lastPlace: number;
};

type Frame = {
  /** Starts at 1 and grows by one. */
  readonly place: number;
  readonly extra: boolean;
  readonly text: (limit?: LimitedService['limitEvent']) => string;
};

/** About 5 ms of writing. */
const streamsAtOnce = 500;

type WrittenFrame = Pick<Frame, 'place' | 'extra'> & { readonly text: string };

function textFor(place: number, extra: boolean, frames: readonly WrittenFrame[]): string {
  return frames
    .filter((frame) => frame.place > place && (extra || !frame.extra))
    .map(({ text }) => text)
    .join('');
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

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

/** Data of an event for stream clients; undefined for an internal event. */
function payloadOf(event: ServiceEvent, options: RunOptions): object | undefined {
  switch (event.kind) {
    case 'scan_started':
      return {
        run_id: event.runId,
        purpose: event.purpose,
        trigger: event.trigger,
        by: event.by,
        ...shownOptions(options),
      };
    case 'scan_completed': {
      const { runId, purpose, scanned, updated, failed, restarted, skipped, wentBack: went_back } = event;
      return { run_id: runId, purpose, scanned, updated, failed, restarted, skipped, went_back };
    }
    case 'scan_failed':
      return { run_id: event.runId, purpose: event.purpose, error: event.error };
    case 'update_started': {
      const { runId, container, entryKind: kind, image, formerImage, from, to, isRollback: rollback } = event;
      const tags = { from_image: formerImage, to_image: formerImage && image };
      return { run_id: runId, container, kind, image, from, to, ...tags, rollback };
    }
    case 'update_completed': {
      const rollback = event.outcome.outcome === 'went_back' || undefined;
      return { run_id: event.runId, ...shownOutcome(event.outcome), rollback };
    }
    case 'update_deferred':
      return { run_id: event.runId, ...shownOutcome(event.outcome), reason: event.outcome.reason };
    case 'update_failed': {
      const { reason, outcome } = event.outcome;
      return {
        run_id: event.runId,
        ...shownOutcome(event.outcome),
        error: reason,
        rolled_back: outcome === 'rolled_back',
      };
    }
    case 'image_cleanup':
      return {
        run_id: event.runId,
        images: event.images.map(({ imageId, imageName, containerId, containerName }) => ({
          image_id: imageId,
          image_name: imageName,
          container_id: containerId,
          container_name: containerName,
        })),
      };
    case 'compose_file':
      return { container: event.container, compose: composeEntry(event.state) };
    case 'engine_unreachable':
      return { error: event.error };
    case 'engine_reachable':
    case 'notes_read':
    case 'results_changed':
      return {};
    case 'scan_skipped':
    case 'containers_selected':
    case 'container_checked':
    case 'pull_progress':
    case 'phase_entered':
    case 'earlier_updates_settled':
      return undefined;
  }
}

function shownOutcome(outcome: ContainerOutcome) {
  const { name, kind, image, oldImageId, newImageId, tagChange } = outcome;
  const images = { image, from: oldImageId, to: newImageId, ...tagChangeEntry(tagChange) };
  return { container: name, kind, ...images, ...downtimeEntry(outcome) };
}

function shownOptions(options: RunOptions) {
  return {
    cleanup: options.cleanup,
    no_restart: options.noRestart,
    monitor_only: options.monitorOnly,
    lifecycle_hooks: options.lifecycleHooks,
    rolling_restart: options.rollingRestart,
    label_precedence: options.labelTakesPrecedence,
    no_pull: options.noPull,
    run_once: options.runOnce,
    use_compose_depends_on: options.useComposeDependsOn,
    skip_self_update: options.skipSelfUpdate,
    revive_stopped: options.reviveStopped,
  };
}

/** Data of a step, sent only with `extra=true`. */
function stepPayloadOf(event: StepEvent): object {
  const { runId: run_id, container } = event;
  switch (event.kind) {
    case 'phase_entered':
      return {
        ...{ run_id, container, kind: event.entryKind, phase: event.phase, tasks: event.tasks },
        ...(event.copied && bytesEntry(event.copied)),
      };
    case 'pull_progress':
      return { run_id, container, ...bytesEntry(event.progress) };
    case 'container_checked': {
      const { image, status: verdict, reason, checked = {} } = event;
      return {
        run_id,
        container,
        kind: event.entryKind,
        image,
        verdict,
        reason,
        hold: checked.hold,
        eligible_at: toTimestamp(checked.eligibleAtMs),
        retry_at: toTimestamp(checked.retryAtMs),
        latest_digest: checked.latestDigest,
        candidate_digest: checked.candidateDigest,
        version: checked.version,
        latest_version: checked.latestVersion,
        candidate: checked.candidate,
        candidate_kind: checked.candidateKind,
        change: checked.change,
      };
    }
  }
}

function bytesEntry(progress: CopyProgress) {
  return { percent: percentOf(progress), current_bytes: progress.bytes, total_bytes: progress.totalBytes };
}

type PullThrottle = {
  /** Whether a step is to be sent: always, except pull progress, at most four times a second for each container. */
  readonly isDue: (event: StepEvent) => boolean;
};

export function createPullThrottle(clock: Pick<Clock, 'monotonicMs'>): PullThrottle {
  /** The last `shortestMs`, oldest first. */
  const sentAtMs = new Map<string, number>();

  function forgetExpired(nowMs: number): void {
    for (const [key, atMs] of sentAtMs) {
      if (nowMs - atMs < shortestMs) return;
      sentAtMs.delete(key);
    }
  }

  return {
    isDue(event) {
      const key = `${event.engine ?? ''}/${event.container}`;
      if (event.kind === 'phase_entered') sentAtMs.delete(key);
      if (event.kind !== 'pull_progress') return true;
      const nowMs = clock.monotonicMs();
      forgetExpired(nowMs);
      if (sentAtMs.has(key)) return false;
      sentAtMs.set(key, nowMs);
      return true;
    },
  };
}

const shortestMs = 250;
