import { builtInTemplates } from '../../../src/domain/notification/watchtower-composer.ts';
import { fixtures, type Root } from './fixtures.ts';
import { publicTemplates } from './public-templates.ts';
import { randomTemplate } from './random-template.ts';

export type Case = { readonly template: string; readonly fixture: string; readonly root: Root };

/** Every built-in and public template with every fixture, in both modes. */
export function namedCases(): ReadonlyMap<string, Case> {
  const cases = new Map<string, Case>();
  for (const [name, template] of [...builtInTemplates, ...Object.entries(publicTemplates)]) {
    for (const fixture of Object.keys(fixtures)) {
      if (fixture === 'values') continue;
      for (const root of ['report', 'log'] as const) {
        cases.set(`${name}, ${fixture}, ${root} mode`, { template, fixture, root });
      }
    }
  }
  return cases;
}

export const randomCount = 200;

/** From a seed on; a few of them are wrong on purpose. */
export function randomCases(count = randomCount, seed = 1): readonly Case[] {
  return Array.from({ length: count }, (_, index) => ({
    template: randomTemplate(seed + index),
    fixture: 'values',
    root: 'values' as const,
  }));
}
