import { describeError, ServiceError } from '../../../domain/errors.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Style } from '../terminal/style.ts';

/**
 * What a person reads when a command cannot go on: what, why and what to do about it. Of a bug only
 * that it is one, and how to report it: a stack trace helps nobody but us.
 */
export function failureLines(error: unknown, style: Style): readonly string[] {
  const message = describeError(error)
    .split('\n')
    .map((line) => printable(line, longestLine));
  const remedy = error instanceof ServiceError ? error.remedy : bugRemedy;
  return [
    ...message.map((line) => `${style.red('upkeep:')} ${line}`),
    ...(remedy === undefined ? [] : [`  ${printable(remedy, longestLine)}`]),
  ];
}

const bugRemedy = 'This is a bug in Upkeep. Run the same again with --log-level debug and report what it prints';
const longestLine = 2000;
