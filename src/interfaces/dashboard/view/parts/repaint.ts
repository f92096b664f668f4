import { type Child, fill } from './node.ts';

const painted = new WeakMap<Element, string>();

/** Fills a node only if its content has changed, and keeps the focus. */
export function repaint(node: Element, content: unknown, make: () => readonly Child[]): boolean {
  const signature = JSON.stringify(content);
  if (painted.get(node) === signature) return false;
  painted.set(node, signature);
  const place = node.contains(document.activeElement) ? focusable(node).indexOf(document.activeElement) : -1;
  fill(node, ...make());
  const next = place === -1 ? undefined : focusable(node)[place];
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
  return true;
}

/** Forces the next repaint. */
export function forget(node: Element): void {
  painted.delete(node);
}

function focusable(node: Element): (Element | null)[] {
  return [...node.querySelectorAll('a[href], button, input, select, [tabindex]')];
}
