import type { Log, LogFields } from '../../domain/outside/outside.ts';
import { formats, type LogLevel } from './log-format.ts';
import { createRedaction } from './redact.ts';

export type LogOptions = {
  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  readonly format: 'auto' | 'pretty' | 'json' | 'logfmt';
  /** The least severe level that is written. */
  readonly level: LogLevel;
  readonly stream: { readonly write: (text: string) => unknown; readonly isTTY?: boolean | undefined };
  readonly colour: boolean;
  /** Values that are never written. */
  readonly secrets?: readonly string[];
  /** Wall clock, milliseconds since the epoch. */
  readonly nowMs: () => number;
};

/**
 * Writes one line per message. Escapes control characters, hides secrets and cuts long values, so that no container,
 * registry or request can forge a line.
 */
export function createLog({ format, level, stream, colour, secrets = [], nowMs }: LogOptions): Log {
  const chosen = format === 'auto' ? (stream.isTTY === true ? 'pretty' : 'json') : format;
  const redaction = createRedaction(secrets);
  const writer =
    (of: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (severity[of] > severity[level]) return;
      const line = { atMs: nowMs(), level: of, message: redaction.text(message), fields: redaction.fields(fields) };
      stream.write(`${formats[chosen](line, colour)}\n`);
    };
  return { error: writer('error'), warn: writer('warn'), info: writer('info'), debug: writer('debug') };
}

const severity: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };
