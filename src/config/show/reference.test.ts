import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationPage, labelRows } from './reference.ts';
import { readLabels } from '../../domain/settings/effective-settings.ts';
import { optionEntries } from '../table/options.ts';
import { labelTable } from '../../domain/settings/table/service-options.ts';
import { parseValue } from '../read/load.ts';

test('docs/configuration.md is what the table of options says (npm run docs writes it)', () => {
  const committed = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  expect(committed).toBe(configurationPage());
});

test('configurationPage() shows every flag, and every variable whose name does not follow from the flag', () => {
  const page = configurationPage();
  for (const [, option] of optionEntries) {
    if (option.internal) continue;
    const { flag = '', env = [], plainEnv = [] } = option;
    expect(page).toContain(flag === '' ? '' : `--${flag}`);
    const unusual = env.filter((suffix) => suffix !== flag.replaceAll('-', '_').toUpperCase());
    for (const name of [...unusual.map((suffix) => `UPKEEP_${suffix}`), ...plainEnv])
      expect(page).toContain(`\`${name}\``);
    if (flag !== '' && env.length + plainEnv.length === 0)
      expect(page.slice(0, page.indexOf('\n\n## '))).toContain(`\`--${flag}\``);
  }
  for (const { name } of labelTable) expect(page).toContain(`\`upkeep.${name}`);
});

test.each(optionEntries)('the example of %s is a value that it takes, and not its default', (_, option) => {
  const parsed = parseValue(option, [option.example]);
  expect(parsed).toMatchObject({ kind: 'value' });
  expect(parsed).not.toEqual({ kind: 'value', value: option.default });
});

test.each(labelRows())('%s (also %s): %s, as in %s', (_label, _alias, _meaning, example = '') => {
  const [label = '', value = ''] = example.replaceAll('`', '').split('=');
  expect(readLabels({ [label]: value }, {}).warnings).toEqual([]);
});
