import { startAddress, writeAddress } from '../../state/address.ts';
import type { WatchedContainer } from '../../state/documents/container.ts';
import type { RowContent } from '../../state/telling/row.ts';
import type { RowAction } from '../../state/telling/describe-state.ts';
import { shortImage } from '../../state/telling/versions.ts';
import { uncapitalized } from '../../state/words/sentences.ts';
import { icon } from '../parts/icon.ts';
import { type Child, h } from '../parts/node.ts';
import { steps } from '../parts/steps.ts';
import { versionNodes } from '../parts/version.ts';

export const actionWords: Readonly<Record<RowAction, string>> = {
  update: 'Update…',
  approve: 'Approve…',
  check: 'Check',
  look: 'See why',
};

export type CellParts = {
  readonly one: WatchedContainer;
  readonly content: RowContent;
  readonly isPicked: boolean;
  /** Undefined: there is none. */
  readonly action: { readonly kind: RowAction; readonly isOff: boolean } | undefined;
  readonly down: Child;
};

/** The cells of a container's row. */
export function rowCells({ one, content, isPicked, action, down }: CellParts): readonly HTMLTableCellElement[] {
  const { told, checked, runs } = content;
  const href = writeAddress({ ...startAddress, open: one.name });
  const box = h('input', { type: 'checkbox', 'aria-label': `Select ${one.name}` });
  box.checked = isPicked;
  const state = runs.isBad ? h('b', {}, runs.state) : runs.state;
  return [
    cell('c-pick', box),
    cell('c-mark', icon(told.icon, told.turning === true ? 'turning' : '')),
    cell(
      'c-name',
      one.engine !== '' && h('span', { class: 'on-engine' }, one.engine),
      h('a', { href, title: one.name }, one.ownName),
      one.isService && h('span', { class: 'self' }, 'service'),
      one.self && h('span', { class: 'self' }, 'itself'),
      one.project !== '' && h('span', { class: 'project' }, one.project),
    ),
    cell('c-engine', one.engine),
    h('td', { class: 'c-image', role: 'cell', title: one.image }, shortImage(one.image)),
    cell(`c-version${one.latestVersion === '' ? ' same' : ''}`, ...versionNodes(one)),
    cell(`c-status${told.aside === undefined ? '' : ' has-aside'}`, ...statusNodes(content)),
    cell('c-state', down === undefined ? state : down, down === undefined && runs.since),
    h('td', { class: 'c-checked', role: 'cell', title: checked.title }, checked.text),
    cell('c-act', action !== undefined && actionButton(action, one.name)),
  ];
}

function cell(name: string, ...content: readonly Child[]): HTMLTableCellElement {
  return h('td', { class: name, role: 'cell' }, ...content);
}

function statusNodes({ told, steps: shown }: RowContent): readonly Child[] {
  const word = h('span', { class: shown === undefined ? 'word' : 'sr' }, told.word);
  const why = told.why && whyNode(told.why, shown === undefined ? '' : told.word);
  return [word, shown && steps(shown), told.aside !== undefined && h('span', { class: 'aside' }, told.aside), why];
}

function whyNode(why: string, before: string): HTMLElement {
  if (before === '') return h('span', { class: 'why' }, why);
  return h('span', { class: 'why' }, h('b', { class: 'word' }, `${before}: `), uncapitalized(why));
}

function actionButton({ kind, isOff }: NonNullable<CellParts['action']>, name: string): HTMLButtonElement {
  const word = actionWords[kind];
  const label = `${word.replace('…', '')} ${name}`;
  return h(
    'button',
    { type: 'button', class: 'text-button', 'data-act': kind, disabled: isOff, 'aria-label': label },
    word,
  );
}
