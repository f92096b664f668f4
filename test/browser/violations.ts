import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OpenPage } from './stage.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Broken rules, with the first node of each. The test document has no content security policy against evaluated code.
 */
export async function violations(page: { readonly evaluate: OpenPage['evaluate'] }): Promise<readonly string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary.slice(0, 200))))`,
  );
}
