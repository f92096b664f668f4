import { capitalized, withPeriod } from '../../state/words/sentences.ts';
import type { Gap } from '../../transport/reader.ts';
import { type Child, h } from '../parts/node.ts';

/** Shown in place of a document that was never read. */
export function gapNodes(what: string, gap: Gap): readonly Child[] {
  if (gap === 'reading') return [h('h2', {}, `Reading ${what}…`)];
  return [h('h2', {}, `Cannot read ${what}`), h('p', {}, withPeriod(capitalized(gap.why)))];
}
