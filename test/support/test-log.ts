import type { Log, LogFields } from '../../src/domain/outside/outside.ts';

export type LogLine = { readonly level: keyof Log; readonly message: string; readonly fields: LogFields };

/** A log whose lines are kept. */
export function createTestLog(): Log & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
