import MarkdownIt, { type Token } from 'markdown-it';
import { alerts, type Alert, type Block, type Span, textOf } from '../../domain/notes/read-release.ts';

/**
 * Reads release notes into a tree of plain data. HTML is dropped, images become their texts, and links keep https
 * addresses only. Long and deep texts are cut. Loaded on demand, because few processes need it.
 */
export function readMarkdown(text: string): readonly Block[] {
  const tokens = parser.parse(prepared(text), {});
  const [blocks] = readBlocks(tokens, 0, maxDepth, { left: maxNodes });
  return blocks;
}

const maxText = 64 * 1024;
const maxDepth = 20;

/** A tree of more nodes is cut: a page could not show it. */
const maxNodes = 20_000;

const parser = new MarkdownIt({ html: false, linkify: false, maxNesting: maxDepth });
// A table is read as a list of its rows; a reference to a definition is rare in notes, and expensive to resolve.
parser.disable(['reference', 'html_block', 'html_inline'], true);

type Room = { left: number };

/** Without comments, folded lists of dependencies, and characters that a terminal would obey. */
function prepared(text: string): string {
  const plain = visible(text.slice(0, maxText).replaceAll(/\r\n?/g, '\n'));
  const kept = cutOut(
    cutOut(plain, '<!--', '-->', () => true),
    '<details',
    '</details>',
    (part) => /^<details[^>]{0,100}>\s*<summary>(?![^<]{0,100}breaking)[^<]{0,100}depend/i.test(part),
  );
  return inMarkdown(kept).slice(0, maxText);
}

/** Headings, bold lines and items that are written in HTML, because a rule asks for them. Other tags vanish later. */
function inMarkdown(text: string): string {
  const bold = (inner: string) => `**${inner.replaceAll(/<[^<>]{0,300}>|\*/g, '').trim()}**`;
  return text
    .replaceAll(
      /^[ \t]*<h([1-6])\b[^<>\n]{0,200}>(.{1,300}?)<\/h\1>/gim,
      (_, level: string, inner: string) => `\n${'#'.repeat(Number(level))} ${inner}\n`,
    )
    .replaceAll(/<summary>\s*(\S.{0,300}?)\s*<\/summary>/gi, (_, inner: string) => `\n\n${bold(inner)}\n\n`)
    .replaceAll(/^[ \t]*(?:<p\b[^<>\n]{0,200}>)?<(b|strong)>(.{1,300}?)<\/\1>/gim, (_, _tag, inner: string) =>
      bold(inner),
    )
    .replaceAll(/<li\b[^<>\n]{0,200}>/gi, '\n- ');
}

/** A numeric character reference may bring back what was removed before. */
function visible(text: string): string {
  return text.replaceAll(/(?![\n\t\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '');
}

function cutOut(text: string, begin: string, end: string, isCut: (part: string) => boolean): string {
  let kept = '';
  let at = 0;
  for (;;) {
    const from = text.indexOf(begin, at);
    const isWanted = from >= 0 && isCut(text.slice(from, from + 400));
    const behind = isWanted ? behindEnd(text, from, begin, end) : from + begin.length;
    if (from < 0 || behind < 0) return kept + text.slice(at);
    kept += text.slice(at, isWanted ? from : behind);
    at = behind;
  }
}

/** Folded parts may be in one another, comments may not. Below 0: there is no end. */
function behindEnd(text: string, from: number, begin: string, end: string): number {
  let open = 0;
  let at = from;
  do {
    const until = text.indexOf(end, at);
    if (until < 0) return -1;
    open += begin === '<details' ? text.slice(at, until).split(begin).length - 1 : Number(open === 0);
    open -= 1;
    at = until + end.length;
  } while (open > 0);
  return at;
}

/** The blocks from a token on, up to the end of their parent, and the place behind it. */
function readBlocks(
  tokens: readonly Token[],
  from: number,
  depth: number,
  room: Room,
): readonly [readonly Block[], number] {
  const blocks: Block[] = [];
  let at = from;
  for (let token = tokens[at]; token !== undefined && token.nesting >= 0; token = tokens[at]) {
    room.left -= 1;
    const isTaken = room.left > 0 && depth > 0;
    const [inner, end] = readOne(tokens, at, token, depth, room);
    if (isTaken) blocks.push(...inner);
    at = end;
  }
  return [blocks, at + 1];
}

function readOne(
  tokens: readonly Token[],
  at: number,
  token: Token,
  depth: number,
  room: Room,
): readonly [readonly Block[], number] {
  switch (token.type) {
    case 'heading_open':
    case 'paragraph_open': {
      const spans = readSpans(tokens[at + 1]?.children ?? [], room);
      const block: Block =
        token.type === 'paragraph_open'
          ? { kind: 'para', spans }
          : { kind: 'heading', level: Number(token.tag.slice(1)) || 6, spans };
      return [spans.length === 0 ? [] : [block], at + 3];
    }
    case 'bullet_list_open':
    case 'ordered_list_open':
    case 'tbody_open': {
      const items: (readonly Block[])[] = [];
      let next = at + 1;
      while (tokens[next] !== undefined && (tokens[next]?.nesting ?? -1) > 0) {
        const [item, end] = readBlocks(tokens, next + 1, depth - 1, room);
        if (item.length > 0) items.push(item);
        next = end;
      }
      const isOrdered = token.type === 'ordered_list_open';
      return [items.length === 0 ? [] : [{ kind: 'list', isOrdered, items }], next + 1];
    }
    case 'td_open':
    case 'th_open': {
      const spans = readSpans(tokens[at + 1]?.children ?? [], room);
      return [spans.length === 0 ? [] : [{ kind: 'para', spans }], at + 3];
    }
    case 'thead_open': {
      const [, end] = readBlocks(tokens, at + 1, 0, room);
      return [[], end];
    }
    case 'blockquote_open': {
      const [blocks, end] = readBlocks(tokens, at + 1, depth - 1, room);
      return [blocks.length === 0 ? [] : [quoteOf(blocks)], end];
    }
    case 'fence':
    case 'code_block':
      return [[{ kind: 'code', text: token.content.slice(0, maxCode) }], at + 1];
    case 'hr':
      return [[{ kind: 'rule' }], at + 1];
    default: {
      if (token.nesting === 0) return [[], at + 1];
      return readBlocks(tokens, at + 1, depth - 1, room);
    }
  }
}

const maxCode = 10_000;

/** GitHub writes an alert as a quotation that begins with `[!WARNING]`, formerly with a bold word. */
function quoteOf(blocks: readonly Block[]): Block {
  const [first, ...rest] = blocks;
  const [head, ...spans] = first?.kind === 'para' ? first.spans : [];
  const mark = head?.kind === 'text' ? (/^\[!(\w{3,9})\]\s*/.exec(head.text)?.[0] ?? '') : '';
  const word = (head?.kind === 'strong' ? textOf([head]) : mark).replaceAll(/[^a-z]/gi, '').toLowerCase();
  const alert: Alert | undefined = alerts.find((name) => name === word);
  if (alert === undefined) return { kind: 'quote', blocks };
  const text = head?.kind === 'text' ? head.text.slice(mark.length) : '';
  const left: readonly Span[] = [...(text === '' ? [] : [{ kind: 'text' as const, text }]), ...spans];
  return {
    kind: 'quote',
    alert,
    blocks: [...(left.length === 0 ? [] : [{ kind: 'para' as const, spans: left }]), ...rest],
  };
}

function readSpans(tokens: readonly Token[], room: Room): readonly Span[] {
  const open: { readonly close: (spans: readonly Span[]) => readonly Span[]; readonly spans: Span[] }[] = [];
  const root: Span[] = [];
  for (const token of tokens) {
    room.left -= 1;
    if (room.left < 0) break;
    const here = open.at(-1)?.spans ?? root;
    if (token.nesting > 0) open.push({ close: closingOf(token), spans: [] });
    else if (token.nesting < 0) {
      const done = open.pop();
      if (done !== undefined) addSpans(open.at(-1)?.spans ?? root, done.close(done.spans));
    } else addSpans(here, leafOf(token));
  }
  for (let left = open.pop(); left !== undefined; left = open.pop()) addSpans(open.at(-1)?.spans ?? root, left.spans);
  return root;
}

function closingOf(token: Token): (spans: readonly Span[]) => readonly Span[] {
  if (token.type === 'strong_open') return (spans) => (spans.length === 0 ? [] : [{ kind: 'strong', spans }]);
  if (token.type === 'em_open') return (spans) => (spans.length === 0 ? [] : [{ kind: 'em', spans }]);
  const href = token.type === 'link_open' ? safeAddress(String(token.attrGet('href') ?? '')) : undefined;
  if (href !== undefined) return (spans) => (spans.length === 0 ? [] : [{ kind: 'link', href, spans }]);
  return (spans) => spans;
}

/** Absolute https addresses without a login. */
function safeAddress(href: string): string | undefined {
  if (href.length > 1000 || !href.toLowerCase().startsWith('https://') || !URL.canParse(href)) return undefined;
  const { username, password, href: address } = new URL(href);
  return username === '' && password === '' ? address : undefined;
}

function leafOf(token: Token): readonly Span[] {
  switch (token.type) {
    case 'softbreak':
    case 'hardbreak':
      return [{ kind: 'text', text: '\n' }];
    case 'code_inline':
      return [{ kind: 'code', text: token.content }];
    case 'image':
      return token.content === '' ? [] : [{ kind: 'text', text: token.content }];
    default:
      return [{ kind: 'text', text: withoutTags(visible(token.content)) }];
  }
}

/** ` by @someone in https://…/pull/12` becomes ` (#12)`; tags of HTML vanish. */
function withoutTags(text: string): string {
  return text
    .replaceAll(/ by @[\w[\]-]{1,50} in https:\/\/\S{1,200}\/(?:pull|issues|merge_requests)\/(\d{1,9})/g, ' (#$1)')
    .replaceAll(/<\/?[a-z][^<>]{0,300}>/gi, '');
}

/** Neighbouring texts become one, so that a rule sees a whole line. */
function addSpans(spans: Span[], more: readonly Span[]): void {
  for (const span of more) {
    const last = spans.at(-1);
    if (span.kind === 'text' && last?.kind === 'text')
      spans[spans.length - 1] = { kind: 'text', text: last.text + span.text };
    else if (!('text' in span) || span.text !== '') spans.push(span);
  }
}
