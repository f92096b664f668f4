/** The content of a node. Markup is never parsed, so any text is only text. */
export type Child = Node | string | undefined | false;

export type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Creates an element. False and undefined attributes are omitted; texts become text nodes. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly (Child | readonly Child[])[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...kept(children.flat()));
  return node;
}

/** A button with its effect. */
export function button(attributes: Attributes, onClick: () => void, ...children: readonly Child[]): HTMLButtonElement {
  const node = h('button', { type: 'button', ...attributes }, ...children);
  node.addEventListener('click', onClick);
  return node;
}

/** Replaces the children. */
export function replaceContent(node: Element, ...children: readonly (Child | readonly Child[])[]): void {
  node.replaceChildren(...kept(children.flat()));
}

/** Fills a node only if its content has changed, and keeps the focus. */
export function repaint(node: Element, content: unknown, make: () => readonly Child[]): boolean {
  const signature = JSON.stringify(content);
  if (painted.get(node) === signature) return false;
  painted.set(node, signature);
  const place = node.contains(document.activeElement) ? focusable(node).indexOf(document.activeElement) : -1;
  replaceContent(node, ...make());
  const next = place === -1 ? undefined : focusable(node)[place];
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
  return true;
}

/** Forces the next repaint. */
export function forceRepaint(node: Element): void {
  painted.delete(node);
}

const painted = new WeakMap<Element, string>();

/** A permanent element of the document. */
export function byId(id: string): HTMLElement;
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const node = document.getElementById(id);
  if (node instanceof kind) return node;
  throw new Error(`Cannot find #${id} in the document`);
}

/** Sets a text only if it differs, so that observers and screen readers notice only changes. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

function kept(children: readonly Child[]): (Node | string)[] {
  return children.filter((child) => child !== undefined && child !== false && child !== '');
}

function focusable(node: Element): (Element | null)[] {
  return [...node.querySelectorAll('a[href], button, input, select, [tabindex]')];
}
