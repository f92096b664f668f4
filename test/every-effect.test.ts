import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { foreignLabelRows } from '../src/config/show/reference.ts';
import { optionEntries, type OptionKey } from '../src/config/table/options.ts';
import { dropInPrefix, ownPrefix } from '../src/domain/image/labels.ts';
import { labelNames } from '../src/domain/settings/table/service-options.ts';
import {
  type Effect,
  effectsOfForeignLabels,
  effectsOfLabels,
  effectsOfOptions,
} from './integration/effects/every-effect.ts';

type Row = {
  readonly name: string;
  readonly effect: Effect;
  /** The file with the test has one of these texts. */
  readonly words: readonly string[];
};

const rows: readonly Row[] = [
  ...optionRows(),
  ...labelNames.map((name) => ({ name, effect: effectsOfLabels[name], words: wordsOfLabel(name) })),
  ...Object.entries(effectsOfForeignLabels).map(([name, effect]) => ({
    name,
    effect,
    words: [name, 'composeLabels('],
  })),
];

describe('what options and labels do to containers', () => {
  test('is written down for each option that has any effect, and for each label', () => {
    const written = Object.keys(effectsOfOptions);
    expect(written.toSorted()).toEqual(
      optionEntries.flatMap(([key, { withoutEffect }]) => (withoutEffect === undefined ? [key] : [])).toSorted(),
    );
    expect(Object.keys(effectsOfLabels).toSorted()).toEqual([...labelNames].toSorted());
    const heard = foreignLabelRows().map(([label = '']) => label.replaceAll('`', '').replace(/=.*/, ''));
    expect(Object.keys(effectsOfForeignLabels).toSorted()).toEqual(heard.toSorted());
  });

  test.each(rows)('$name: is shown on a real engine where the table says, or has a reason', ({ effect, words }) => {
    if (effect.kind === 'none') {
      expect(effect.because).not.toBe('');
      return;
    }
    const text = readFileSync(new URL(effect.file, import.meta.url), 'utf8');
    expect(text).toMatch(/describeIn(?:Lab|Swarm)\(/);
    expect(titlesIn(text)).toContain(effect.title);
    expect(words.filter((word) => text.includes(word))).not.toEqual([]);
  });
});

function optionRows(): readonly Row[] {
  const effects: Readonly<Partial<Record<OptionKey, Effect>>> = effectsOfOptions;
  return optionEntries.flatMap(([key, { flag, env = [], plainEnv = [] }]) => {
    const effect = effects[key];
    if (effect === undefined) return [];
    return [{ name: key, effect, words: [...(flag === undefined ? [] : [`--${flag}`]), ...env, ...plainEnv] }];
  });
}

/** The tests of hooks have only the last part of the name. */
function wordsOfLabel(name: string): readonly string[] {
  const part = name.replace(/^lifecycle\./, '').replace(/-timeout$/, '');
  return [ownPrefix + name, dropInPrefix + name, ...(name.startsWith('lifecycle.') ? [part] : [])];
}

/** The titles of `test('…'` and of `test.each(…)('…'`, as in the source. */
function titlesIn(text: string): readonly string[] {
  return [...text.matchAll(/(?:\btest|\]|\)|>)\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1,/g)].map(
    ([, , title = '']) => title,
  );
}
