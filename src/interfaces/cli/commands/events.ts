import { printableJson } from '../../../domain/text/printable.ts';
import { exitCodes, type LookFunction } from '../context/context.ts';
import type { Sources } from '../context/views.ts';
import { eventLine } from '../render/event-line.ts';
import { styleFor } from '../render/print.ts';

/** `upkeep events`: what a running service does, until the user asks to stop. */
export function createEvents(follow: Sources['follow']): LookFunction {
  return async ({ settings, terminal: { out }, signal }) => {
    const style = styleFor(out, settings);
    try {
      for await (const event of follow(signal)) {
        const line = settings.output.json ? printableJson(JSON.stringify(event)) : eventLine(event, style);
        out.write(`${line}\n`);
      }
    } catch (error) {
      // To be stopped is how it ends.
      if (!signal.aborted) throw error;
    }
    return exitCodes.done;
  };
}
