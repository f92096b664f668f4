import type { WatchedContainer } from '../../state/documents/container.ts';
import { hasNewer, versionsOf } from '../../state/display/row.ts';

/** The content of a node. Markup is never parsed, so any text is only text. */
export type Child = Node | string | undefined | false;

type Attributes = Readonly<Record<string, string | boolean | undefined>>;

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
    distance: Math.abs(at - place) + (labelOf(control) === label ? 0 : maxControls),
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
const maxControls = 1e6;

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
  return children.flatMap((child) => (child === undefined || child === false || child === '' ? [] : [child]));
}

function focusable(node: Element): HTMLElement[] {
  return [...node.querySelectorAll<HTMLElement>('a[href], button, input, select, summary, [tabindex]')];
}

const svgSpace = 'http://www.w3.org/2000/svg';

/** An icon of the sprite in index.html. Screen readers skip it, because a text is beside it. */
export function icon(name: string, more = ''): SVGSVGElement {
  const node = svg('svg', { class: `icon ${more}`.trim(), 'aria-hidden': 'true' });
  node.append(svg('use', { href: `#i-${name}` }));
  return node;
}

/** An element of SVG with its attributes. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
): SVGElementTagNameMap[Tag] {
  const node = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/** `3.2.0 → 3.2.1 patch` */
export function versionNodes(one: WatchedContainer): readonly Child[] {
  const { from, to } = versionsOf(one);
  const isBreaking = hasNewer(one) && one.notes?.isBreaking === true;
  const mark =
    isBreaking &&
    h('span', { class: 'badge breaking', title: 'Its release notes speak of breaking changes' }, 'breaking');
  const badge = hasNewer(one) && one.change !== undefined && h('span', { class: `badge ${one.change}` }, one.change);
  if (to === '') return [h('span', {}, from || '–'), badge, mark];
  return [
    h('span', {}, from || '–'),
    h('span', { class: 'arrow' }, h('span', { 'aria-hidden': 'true' }, '→'), h('span', { class: 'sr' }, ' to ')),
    h('span', { class: 'new' }, to),
    badge,
    mark,
  ];
}

/** Copies a text; shows a check mark when it is done. */
export function copyButton(text: string, what: string): HTMLButtonElement {
  const node = button(
    { class: 'copy', 'aria-label': `Copy ${what}`, title: `Copy ${what}` },
    () => void copy(),
    icon('copy'),
  );
  return node;

  async function copy(): Promise<void> {
    if (!(await written(text))) return;
    node.classList.add('did');
    replaceContent(node, icon('check'));
    setTimeout(() => {
      node.classList.remove('did');
      replaceContent(node, icon('copy'));
    }, 1500);
  }
}

/** Over plain HTTP browsers offer the clipboard on localhost only: https://w3c.github.io/clipboard-apis/ */
async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.className = 'sr';
    area.value = text;
    document.body.append(area);
    area.select();
    // This older way works over plain HTTP, too.
    const isDone = document.execCommand('copy');
    area.remove();
    return isDone;
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** A temporary line, for events outside of the rows. */
export function notice(text: string, action?: { readonly label: string; readonly run: () => void }): void {
  clearTimeout(timer);
  const node = byId('notice');
  replaceContent(node, text, action && button({ class: 'text-button' }, action.run, action.label));
  timer = setTimeout(() => replaceContent(node), noticeMs(text, action !== undefined));
}

/** The time in which everyone can read the text, and can press the button. */
export function noticeMs(text: string, hasAction: boolean): number {
  return Math.max(hasAction ? 8000 : 4000, Math.min(text.length * characterMs, maxMs));
}

const characterMs = 120;
const maxMs = 60_000;

/** A text for screen readers only: begin and end of an update. */
export function announce(text: string): void {
  byId('announcer').textContent = text;
}

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
