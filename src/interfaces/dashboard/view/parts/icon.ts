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
