import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readLabels } from '../src/domain/settings/effective-settings.ts';

type ComposeFile = {
  readonly services: Readonly<Record<string, { readonly labels: Readonly<Record<string, string>> }>>;
};

test('every label in the example of docs/lifecycle-hooks.md is heard', () => {
  const page = readFileSync(new URL('../docs/lifecycle-hooks.md', import.meta.url), 'utf8');
  const { services } = parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? '') as ComposeFile;
  const readings = Object.values(services).map(({ labels }) => readLabels(labels, {}));
  expect(readings.flatMap(({ warnings }) => warnings)).toEqual([]);
  expect(readings.map(({ labelSettings }) => labelSettings.hooks.preUpdate)).toEqual([
    { command: expect.stringMatching(/^pg_dumpall .*\.sql$/), timeoutMs: 900_000 },
    { command: expect.stringMatching(/exit 75$/), timeoutMs: undefined },
  ]);
});
