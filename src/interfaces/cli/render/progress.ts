import type { Application } from '../../../application/application.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import { describeEvent, logEvents } from './event-description.ts';
import type { CommandContext } from '../context/context.ts';
import { isLive, styleFor } from './print.ts';
import type { TextOutput } from '../terminal/terminal.ts';

/** Shows the application's progress while the work lasts. */
export async function withProgress<Result>(context: CommandContext, work: () => Promise<Result>): Promise<Result> {
  const stop = await showProgress(context);
  try {
    return await work();
  } finally {
    stop();
  }
}

/** A live table on a terminal, lines in a pipe, the log if standard output is reserved for a document. */
async function showProgress(context: CommandContext): Promise<() => void> {
  const { application, settings, terminal, clock, log } = context;
  if (settings.output.json) return logEvents(application, log, settings.log);
  if (!isLive(terminal, settings)) return writeEventLines(application, terminal.out);
  const { showLiveTable } = await import('./live-table.ts');
  return showLiveTable(application, { terminal, clock, style: styleFor(terminal.out, settings) }).end;
}

/** One line for each event that is news, until the returned function is called. */
export function writeEventLines(application: Application, output: TextOutput): () => void {
  return application.subscribe((event) => {
    const announcement = isNews(event) ? describeEvent(event) : undefined;
    if (announcement !== undefined) output.write(`${announcement.message}\n`);
  });
}

/** The final table lists unchanged containers. */
function isNews(event: ServiceEvent): boolean {
  if (event.kind === 'container_checked') return event.status === 'stale' || event.status === 'unknown';
  return newsKinds.has(event.kind);
}

const newsKinds: ReadonlySet<string> = new Set<ServiceEvent['kind']>([
  'update_started',
  'phase_entered',
  'update_completed',
  'update_failed',
  'update_deferred',
  'image_cleanup',
]);
