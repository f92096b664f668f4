import { describeError, ServiceError } from '../../../domain/errors.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Style } from '../terminal/style.ts';

/** Error text of a failed command: action, cause and remedy. For a bug: how to report it, without a stack trace. */
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

const bugRemedy = 'This is a bug in Upkeep. Run the command again with --log-level debug and report its output';
const longestLine = 2000;
