import { button, repaint } from '../parts/node.ts';

/** Buttons with one choice. */
export function choiceButtons<Kind extends string>(
  node: Element,
  choices: readonly (readonly [kind: Kind, label: string])[],
  chosen: Kind,
  choose: (kind: Kind) => void,
): void {
  repaint(node, [choices, chosen], () =>
    choices.map(([kind, label]) =>
      button({ class: 'chip', 'aria-pressed': String(kind === chosen) }, () => choose(kind), label),
    ),
  );
}
