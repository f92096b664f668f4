import { expect, test } from 'vitest';
import { createOmittedEntryWarning } from './client.ts';

test('what is left out is told once; of many ten are named, and the others counted', () => {
  const warnings: string[] = [];
  const tell = createOmittedEntryWarning((message) => warnings.push(message));
  const names = Array.from({ length: 13 }, (_, index) => `"n${index}"`);
  tell('container', names);
  tell('container', names);
  tell('container', []);
  expect(warnings).toHaveLength(11);
  expect(warnings[0]).toMatch(/^The container "n0" is ignored/);
  expect(warnings[10]).toBe('3 more containers are ignored: their entries are too large');
  tell('image', ['"n0"', '']);
  expect(warnings.slice(11)).toEqual([
    expect.stringContaining('The image "n0" is ignored'),
    expect.stringContaining('One image whose name cannot be read'),
  ]);
});

test('what it remembers is bounded', () => {
  let warnings = 0;
  const tell = createOmittedEntryWarning(() => (warnings += 1));
  for (let turn = 0; turn < 2_000; turn += 1) tell('container', [`"${turn}"`]);
  tell('container', ['"0"']);
  expect(warnings).toBe(2_001);
});
