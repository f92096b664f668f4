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
  const focused = document.activeElement;
  const place = focusable(node).findIndex((control) => control === focused);
  replaceContent(node, ...make());
  if (place !== -1) focusNear(node, place, focused);
  return true;
}

/** Focuses the control with the label of the earlier one, else the nearest one, else the node itself. */
function focusNear(node: Element, place: number, earlier: Element | null): void {
  const label = labelOf(earlier);
  const ranked = focusable(node).map((control, at) => ({
    control,
    distance: Math.abs(at - place) + (labelOf(control) === label ? 0 : mostControls),
  }));
  ranked.sort((one, other) => one.distance - other.distance);
  // A disabled or invisible control does not accept the focus.
  const isTaken = ranked.some(({ control }) => {
    control.focus({ preventScroll: true });
    return control === document.activeElement;
  });
  if (isTaken || !(node instanceof HTMLElement)) return;
  node.tabIndex = -1;
  node.focus({ preventScroll: true });
}

/** Above every distance within a node. */
const mostControls = 1e6;

function labelOf(control: Element | null): string {
  return control?.getAttribute('aria-label') ?? control?.textContent ?? '';
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

function focusable(node: Element): HTMLElement[] {
  return [...node.querySelectorAll<HTMLElement>('a[href], button, input, select, summary, [tabindex]')];
}
