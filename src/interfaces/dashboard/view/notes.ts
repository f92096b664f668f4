import type { NotesInShort, WatchedContainer } from '../state/documents/container.ts';
import type { NotesBlock, NotesRelease, NotesSpan } from '../state/documents/notes.ts';
import { hasNewer } from '../state/display/row.ts';
import { when } from '../state/words.ts';
import { type Child, h, icon } from './parts/node.ts';

/**
 * What changes with the newer version: its summary, then each release with its text, the newest one open. The text is a
 * tree of plain data, and becomes elements of these few kinds only.
 */
export function notesSection(
  one: WatchedContainer,
  releases: readonly NotesRelease[] | undefined,
  nowMs: number,
): Child {
  const { notes } = one;
  if (notes === undefined || !hasNewer(one) || notes.state === 'off') return undefined;
  const link = notes.url !== '' && outLink('link', notes.url, ['Release notes', icon('out')]);
  const whole = releases?.map((release, at) => releaseNode(release, at === 0, nowMs));
  return h(
    'section',
    { class: 'notes' },
    h('h3', {}, 'What changes', link),
    notes.state === 'found' ? summaryNodes(notes) : h('p', { class: 'why' }, whyNone(notes)),
    whole,
    notes.more > 0 && h('p', { class: 'why' }, `And ${notes.more} older releases.`),
  );
}

function summaryNodes({ isBreaking, summary, leftOut, releases, more }: NotesInShort): Child {
  const count = releases + more;
  const rest = leftOut > 0 ? `and ${leftOut} more in ${count} ${count === 1 ? 'release' : 'releases'}` : '';
  const lines = summary.map((text, at) => h('li', { class: isBreaking && at === 0 && 'is-breaking' }, text));
  return h('ul', { class: 'points' }, lines, rest !== '' && h('li', { class: 'rest' }, rest));
}

function whyNone({ state, error }: NotesInShort): string {
  if (error !== '') return `The release notes cannot be read: ${error}.`;
  if (state === 'none') return 'It has no release notes.';
  if (state === 'no-source')
    return 'No repository with its release notes is known. The label upkeep.source can name it.';
  return 'The release notes are not read yet.';
}

function releaseNode(
  { tag, title, url, publishedAtMs, breaking, blocks }: NotesRelease,
  isOpen: boolean,
  nowMs: number,
) {
  const name = title === '' || title.includes(tag) ? title || tag : `${tag} ${title}`;
  const summary = h(
    'summary',
    {},
    h('b', {}, name),
    breaking.length > 0 && h('span', { class: 'badge breaking' }, 'breaking'),
    publishedAtMs !== undefined && h('span', { class: 'when' }, when(publishedAtMs, nowMs)),
  );
  const text = blocks.length > 0 ? blocks.map(blockNode) : h('p', { class: 'why' }, 'It has no text of its own.');
  const link = url !== '' && h('p', {}, outLink('', url, ['On its page']));
  return h('details', { class: 'release', open: isOpen }, summary, h('div', { class: 'prose' }, text, link));
}

function blockNode(block: NotesBlock): HTMLElement {
  switch (block.kind) {
    case 'heading':
      return h('h4', {}, block.spans.map(spanNode));
    case 'para':
      return h('p', {}, block.spans.map(spanNode));
    case 'list': {
      const items = block.items.map((item) => h('li', {}, item.map(blockNode)));
      return h(block.isOrdered ? 'ol' : 'ul', {}, items);
    }
    case 'quote':
      return h('blockquote', { class: block.alert !== '' && `is-${block.alert}` }, block.blocks.map(blockNode));
    case 'code':
      return h('pre', { tabindex: '0' }, block.text);
    case 'rule':
      return h('hr');
  }
}

function spanNode(span: NotesSpan): Child {
  switch (span.kind) {
    case 'text':
      return span.text;
    case 'code':
      return h('code', {}, span.text);
    case 'strong':
    case 'em':
      return h(span.kind, {}, span.spans.map(spanNode));
    case 'link':
      return outLink('', span.href, span.spans.map(spanNode));
  }
}

function outLink(name: string, href: string, content: readonly Child[]): HTMLElement {
  return h('a', { class: name !== '' && name, href, target: '_blank', rel: 'noreferrer noopener' }, content);
}
