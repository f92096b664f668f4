import { printableJson } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand } from '../context/context.ts';
import type { Sources } from '../context/views.ts';
import { eventLine } from '../render/event-line.ts';
import { styleFor } from '../render/print.ts';

/** `upkeep events`: the events of a running service, until the user stops it. */
export function createEvents(follow: Sources['follow']): ReadCommand {
  return async ({ settings, terminal: { out }, signal }) => {
    const style = styleFor(out, settings);
    try {
      for await (const event of follow(signal)) {
        const line = settings.output.json ? printableJson(JSON.stringify(event)) : eventLine(event, style);
        out.write(`${line}\n`);
      }
    } catch (error) {
      // A stop is the normal end.
      if (!signal.aborted) throw error;
    }
    return exitCodes.done;
  };
}
