import { describe, expect, test } from 'vitest';
import { commands } from '../declaration/commands.ts';
import { variablesOf } from '../table/environment.ts';
import { helpText } from './help.ts';
import { takesOption } from '../declaration/option.ts';
import { optionEntries } from '../table/options.ts';

describe('helpText()', () => {
  test('lists the commands when none is named', () => {
    const text = helpText(undefined, 100);
    for (const { name, summary } of commands) expect(text).toMatch(new RegExp(`^  ${name} +${escape(summary)}$`, 'm'));
  });

  test.each(commands)('shows of $name exactly the options that it knows, with their variables', ({ name }) => {
    const lines = helpText(name, 100).split('\n');
    const shown = lines.flatMap((line) => /^ {2}(?:-\w, )?(--[a-z-]+|[A-Z_]+)(?: |$)/.exec(line)?.[1] ?? []);
    const expected = optionEntries
      .map(([, option]) => option)
      .filter((option) => takesOption(name, option) && option.group !== 'accepted')
      .map((option) => (option.flag === undefined ? variablesOf(option)[0]?.name : `--${option.flag}`));
    expect(new Set(shown)).toEqual(new Set(expected));
  });

  test.each(['update', 'rollback', 'run'] as const)('of %s says what each exit code means', (name) => {
    const text = helpText(name, 100);
    expect(text).toMatch(/^Exit codes:\n {2}0 .*\bsucceeded\n {2}1 .*failed or was rolled back/m);
    expect(text).toMatch(/^ {2}2 .*\n {2}3 .*could not be checked/m);
  });

  test.each([40, 60, 80, 100])('keeps within %i columns, but for words that are longer', (columns) => {
    for (const name of [undefined, ...commands.map((command) => command.name)]) {
      const long = helpText(name, columns)
        .split('\n')
        .filter((line) => line.length > columns);
      expect(long.filter((line) => line.trim().split(' ').length > 3)).toEqual([]);
    }
  });
});

function escape(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
