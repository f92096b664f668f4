import type { EngineRuns } from '../../../domain/fleet/engine-run.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Style } from '../terminal/style.ts';

/** One line for each engine that was not worked on; none where there is one engine, or all is well. */
export function engineLines({ engines = [] }: EngineRuns, style: Style): readonly string[] {
  const lines = engines
    .filter(({ result }) => result !== 'ran')
    .map(({ name, result, error = '' }) =>
      style.red(`${printable(name, 100)}: ${words[result]}: ${printable(error, 1000)}`),
    );
  return lines.length === 0 ? [] : ['', ...lines];
}

const words = { ran: 'done', busy: 'busy', unreachable: 'cannot be reached', failed: 'failed' } as const;
