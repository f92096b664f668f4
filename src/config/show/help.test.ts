import { describe, expect, test } from 'vitest';
import { commands, decisionCommands } from '../table/commands.ts';
import { variablesOf } from '../table/environment.ts';
import { helpText } from './help.ts';
import { takesOption } from '../table/option.ts';
import { optionEntries } from '../table/options.ts';

const everyText = [undefined, ...commands.map((command) => command.name)].flatMap((name) =>
  [false, true].map((isAll) => [name, isAll] as const),
);

describe('helpText()', () => {
  test.each(commands)(
    'of $name has examples, exit codes and the way to all options, in less than 60 lines',
    ({ name, examples }) => {
      for (const columns of [80, 100]) {
        const lines = helpText(name, { columns, isAll: false }).split('\n');
        expect(lines.length).toBeLessThan(60);
        expect(lines).toContain('Examples:');
        for (const { line } of examples) expect(lines.some((each) => each.startsWith(`  ${line}`))).toBe(true);
        expect(lines).toContain('Exit codes:');
        if (name !== 'completion') expect(lines.join(' ')).toContain(`upkeep ${name} --help --all lists`);
      }
    },
  );

  test.each(commands)('of $name ends no meaning inside of brackets', ({ name }) => {
    const lines = helpText(name, { columns: 200, isAll: false }).split('\n');
    expect(lines.filter((line) => line.split('(').length !== line.split(')').length)).toEqual([]);
  });

  test('cuts no short sentence, and lists of a decision no rule that it does not follow', () => {
    const short = (name: (typeof commands)[number]['name']) => helpText(name, { columns: 100, isAll: false });
    expect(short('check')).toContain('Report newer images; update no container');
    for (const name of decisionCommands) {
      expect(short(name)).not.toMatch(/^ {2}\S.*--(?:label-enable|scope|monitor-only|window|cooldown-delay|approve) /m);
      expect(short(name)).toContain('--state-dir');
    }
    expect(short('approve')).toContain('--for');
  });

  test('lists the commands when none is named', () => {
    const text = helpText(undefined, { columns: 100, isAll: false });
    for (const { name, summary } of commands) expect(text).toMatch(new RegExp(`^  ${name} +${escape(summary)}$`, 'm'));
  });

  test.each(commands)('shows of $name exactly the options that it knows, with their variables', ({ name }) => {
    const lines = helpText(name, { columns: 100, isAll: true }).split('\n');
    const shown = lines.flatMap((line) => /^ {2}(?:-\w, )?(--[a-z-]+|[A-Z_]+)(?: |$)/.exec(line)?.[1] ?? []);
    const expected = optionEntries
      .map(([, option]) => option)
      .filter((option) => takesOption(name, option) && option.group !== 'accepted')
      .map((option) => (option.flag === undefined ? variablesOf(option)[0]?.name : `--${option.flag}`));
    expect(new Set(shown)).toEqual(new Set(expected));
  });

  test.each(['update', 'rollback', 'run'] as const)('of %s says what each exit code means', (name) => {
    const text = helpText(name, { columns: 100, isAll: false });
    expect(text).toMatch(/^Exit codes:\n {2}0 .*\bsucceeded\n {2}1 .*failed or was rolled back/m);
    expect(text).toMatch(/^ {2}2 .*\n {2}3 .*could not be checked/m);
  });

  test('has only characters that take one column', () => {
    for (const [name, isAll] of everyText) expect(helpText(name, { columns: 100, isAll })).toMatch(/^(?:[ -~…]*\n)*$/);
  });

  test.each([40, 60, 80, 100])('keeps within %i columns, but for words that are longer', (columns) => {
    for (const [name, isAll] of everyText) {
      const long = helpText(name, { columns, isAll })
        .split('\n')
        .filter((line) => line.length > columns);
      expect(long.filter((line) => line.trim().split(' ').length > 3)).toEqual([]);
    }
  });
});

function escape(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
