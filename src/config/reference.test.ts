import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationPage } from './reference.ts';
import { optionEntries } from './options.ts';

test('docs/configuration.md is what the table of options says (npm run docs writes it)', () => {
  const committed = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  expect(committed).toBe(configurationPage());
});

test('configurationPage() shows every flag and every variable', () => {
  const page = configurationPage();
  for (const [, option] of optionEntries) {
    if (option.flag !== undefined) expect(page).toContain(`--${option.flag}`);
    for (const suffix of option.env ?? []) expect(page).toContain(`\`UPKEEP_${suffix}\` `);
    for (const name of option.plainEnv ?? []) expect(page).toContain(`\`${name}\``);
  }
});
