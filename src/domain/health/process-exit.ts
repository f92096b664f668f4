import type { EngineEvent } from '../outside/engine.ts';
import { isAlive, type Container } from '../container/container.ts';

/** The first exit of a container's process that the engine reports. */
export type ProcessExit = {
  /** By the engine's clock, with a fraction. */
  readonly atMs: number;
  /** Undefined when the engine does not report it. */
  readonly exitCode: number | undefined;
  readonly outOfMemory: boolean;
  /** The engine's message; empty without one. */
  readonly error: string;
  /** Somebody had requested it: a stop, a kill, a forced removal. */
  readonly wasRequested: boolean;
};

/**
 * The exit of a process, from an inspection and the events since its start. Undefined while it runs, or if the engine
 * does not report it. For a removed container only the events count.
 */
export function exitOf(
  id: string,
  container: Container | undefined,
  events: readonly EngineEvent[],
): ProcessExit | undefined {
  const reported = endInEvents(id, events);
  if (container === undefined) return reported;
  const { status, startedAt, finishedAt, exitCode, error, oomKilled } = container.state;
  const isOver = startedAt !== '' && !isAlive(status);
  if (!isOver || container.restartCount > 0) return reported;
  const wasRequested = reported?.wasRequested === true;
  return { atMs: preciseMs(finishedAt), exitCode, outOfMemory: oomKilled, error, wasRequested };
}

function endInEvents(id: string, events: readonly EngineEvent[]): ProcessExit | undefined {
  const own = events.flatMap((event) => (event.kind === 'container' && event.id === id ? [event] : []));
  const at = own.findIndex(({ action }) => action === 'die');
  const end = own[at];
  if (end === undefined) return undefined;
  const before = own.slice(0, at);
  // The engine reports `stop` when the stop is complete. A stop of a stopped container is not reported.
  const wasRequested =
    before.some(({ action, attributes }) => action === 'kill' && ends(attributes['signal'])) ||
    own.slice(at).some(({ action }) => action === 'stop');
  const code = Number(end.attributes['exitCode'] ?? end.attributes['containerExitCode']);
  return {
    atMs: end.timeMs,
    exitCode: Number.isInteger(code) ? code : undefined,
    outOfMemory: before.some(({ action }) => action === 'oom'),
    error: '',
    wasRequested,
  };
}

/** A signal for a reload or a report does not request an exit, though the process may exit later. */
function ends(signal: string | undefined): boolean {
  return signal === undefined || endingSignals.includes(signal);
}

/** SIGINT, SIGQUIT, SIGKILL, SIGTERM and SIGRTMIN+3: https://man7.org/linux/man-pages/man7/signal.7.html */
const endingSignals: readonly string[] = ['2', '3', '9', '15', '37'];

/** `2026-01-02T03:04:05.123456789Z` with all digits, because two processes can exit within a millisecond. */
function preciseMs(timestamp: string): number {
  const [whole = '', fraction = ''] = timestamp.split('.');
  const digits = /^\d+/.exec(fraction)?.[0] ?? '';
  const zone = fraction.slice(digits.length);
  return (
    Date.parse(whole.endsWith('Z') || zone === '' ? whole : `${whole}${zone}`) + Number(`0.${digits || '0'}`) * 1000
  );
}
