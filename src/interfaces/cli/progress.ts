import type { ServiceEvent } from '../../domain/event.ts';
import { announce } from './announcement.ts';
import type { CommandContext } from './context.ts';
import { showLiveTable } from './live-table.ts';
import { logEvents } from './log-events.ts';
import { isWatched, styleFor } from './print.ts';

/**
 * Tells what the application does while it does it: a live table on a terminal, lines in a pipe,
 * the log where standard output is kept for a document. Returns the way to end it.
 */
export function tellProgress(context: CommandContext): () => void {
  const { application, settings, terminal, clock, log } = context;
  if (settings.output.json) return logEvents(application, log);
  if (isWatched(terminal, settings)) {
    const table = showLiveTable(application, { terminal, clock, style: styleFor(terminal.out, settings) });
    return () => table.end();
  }
  return application.subscribe((event) => {
    const announcement = isWorthALine(event) ? announce(event) : undefined;
    if (announcement !== undefined) terminal.out.write(`${announcement.message}\n`);
  });
}

/** The table at the end has what was checked and found as it was. */
function isWorthALine(event: ServiceEvent): boolean {
  if (event.kind === 'container_checked') return event.status === 'stale' || event.status === 'unknown';
  return lineKinds.has(event.kind);
}

const lineKinds: ReadonlySet<ServiceEvent['kind']> = new Set<ServiceEvent['kind']>([
  'update_started',
  'phase_entered',
  'update_completed',
  'update_failed',
  'image_cleanup',
]);
