import { printable } from '../../../domain/text/printable.ts';
import type { ContainerOutcome, Session } from '../../../domain/run/session.ts';
import type { Style } from '../terminal/style.ts';
import { sayRoughly } from '../words/downtime.ts';
import { engineLines } from './engine-lines.ts';
import { shownName } from '../words/shown-name.ts';
import { countsOf, outcomeWording } from '../words/wording.ts';

/** Lines below the table of a session: the last log lines of failed versions, and the counts. */
export function sessionLines({ containers, durationMs, engines }: Session, style: Style): readonly string[] {
  const counts = countsOf(
    containers.map(({ outcome }) => outcome),
    outcomeWording,
  );
  return [
    ...containers.flatMap((container) => lastWords(container, style)),
    ...(containers.length === 0 ? [] : ['']),
    `${counts} in ${sayRoughly(durationMs)}`,
    ...engineLines(engines === undefined ? {} : { engines }, style),
  ];
}

/** More than a health check or a stack trace usually needs. */
const mostLogLines = 20;

function lastWords({ log, ...container }: ContainerOutcome, style: Style): readonly string[] {
  if (log === undefined || log.trim() === '') return [];
  const lines = log.trimEnd().split(/\r?\n/).slice(-mostLogLines);
  return [
    '',
    `The last log lines of the new ${printable(shownName(container), 300)}:`,
    ...lines.map((line) => style.grey(`  | ${printable(line, 500)}`)),
  ];
}
