import type { EngineRuns } from '../../../domain/run/session.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Style } from '../terminal/style.ts';

/** One line for each engine without a complete run. Empty with one engine, or without problems. */
export function engineLines({ engines = [] }: EngineRuns, style: Style): readonly string[] {
  const lines = engines
    .filter(({ result }) => result !== 'ran')
    .map(({ name, result, error = '' }) =>
      style.red(`${printable(name, 100)}: ${engineResults[result]}: ${printable(error, 1000)}`),
    );
  return lines.length === 0 ? [] : ['', ...lines];
}

/** How an engine's part in a run ended, in words. */
export const engineResults = { ran: 'done', busy: 'busy', unreachable: 'cannot be reached', failed: 'failed' } as const;
