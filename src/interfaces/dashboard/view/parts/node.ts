/** What a node can hold; nothing is made of markup, so any text is only text. */
export type Child = Node | string | undefined | false;

export type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** An element. An attribute that is false or undefined is left out; texts become text nodes. */
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

/** Puts other children in the place of those that are there. */
export function fill(node: Element, ...children: readonly (Child | readonly Child[])[]): void {
  node.replaceChildren(...kept(children.flat()));
}

/** An element of the document that is always there. */
export function byId(id: string): HTMLElement;
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const node = document.getElementById(id);
  if (node instanceof kind) return node;
  throw new Error(`Cannot find #${id} in the document`);
}

/** Sets a text only where it differs: an observer, and a screen reader, hear of nothing else. */
export function say(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

function kept(children: readonly Child[]): (Node | string)[] {
  return children.filter((child) => child !== undefined && child !== false && child !== '');
}
