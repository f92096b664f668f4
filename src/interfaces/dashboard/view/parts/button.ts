import { type Attributes, type Child, h } from './node.ts';

/** A button with its effect. */
export function button(attributes: Attributes, onClick: () => void, ...children: readonly Child[]): HTMLButtonElement {
  const node = h('button', { type: 'button', ...attributes }, ...children);
  node.addEventListener('click', onClick);
  return node;
}
