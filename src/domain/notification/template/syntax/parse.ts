import { TemplateError } from '../values/fault.ts';
import { lex, type Token } from './lex.ts';
import { unquote } from './literals.ts';
import type { Branches, Node, Pipe } from './nodes.ts';
import { type Names, parsePipe } from './parse-pipe.ts';
import { createReader, type Reader, unexpected } from './reader.ts';

/** `main`, and the templates of `define` and `block` by name. */
export type Tree = { readonly main: readonly Node[]; readonly templates: ReadonlyMap<string, readonly Node[]> };

/** Parses a template. Throws a `TemplateError` with a position for everything that Go's parser refuses. */
export function parseTree(text: string, functions: readonly string[]): Tree {
  const parser: Parser = {
    reader: createReader(lex(text)),
    names: { functions, variables: ['$'] },
    templates: new Map(),
    ranges: 0,
  };
  const main: Node[] = [];
  while (parser.reader.peek().kind !== 'end') {
    const item = parseItem(parser, true);
    if (item.kind === 'else' || item.kind === 'end') {
      throw new TemplateError(`this ${item.kind} belongs to nothing`, item.at);
    }
    if (item.kind !== 'definition') main.push(item);
  }
  return { main, templates: parser.templates };
}

type Parser = {
  readonly reader: Reader;
  readonly names: Names;
  readonly templates: Map<string, readonly Node[]>;
  /** The number of enclosing ranges in the same template. */
  readonly ranges: number;
};

/** Keywords that end a list, and tokens that add nothing to it. */
type Item =
  | Node
  | { readonly kind: 'else'; readonly at: number }
  | { readonly kind: 'end'; readonly at: number }
  | { readonly kind: 'definition'; readonly at: number };

/** The end of a list: `end`, or `else` with the word after it. */
type Ending = { readonly kind: 'else' | 'end'; readonly also: 'if' | 'with' | undefined; readonly at: number };

function parseItem(parser: Parser, isTop = false): Item {
  const { reader } = parser;
  const token = reader.next();
  if (token.kind === 'text') return { kind: 'text', text: token.text, at: token.at };
  if (token.kind !== 'open') throw unexpected(token, 'the template');
  const word = reader.peek();
  if (word.kind === 'word') {
    const control = controls.get(word.text);
    if (control !== undefined && (isTop || word.text !== 'define')) {
      reader.next();
      return control(parser, token);
    }
  }
  return { kind: 'action', pipe: parsePipe(reader, parser.names, 'an action'), at: token.at };
}

const controls: ReadonlyMap<string, (parser: Parser, open: Token) => Item> = new Map([
  ['if', (parser, open) => parseBranches(parser, open, 'if')],
  ['with', (parser, open) => parseBranches(parser, open, 'with')],
  ['range', parseRange],
  ['define', parseDefine],
  ['block', parseBlock],
  ['template', parseCall],
  ['break', (parser, open) => parseJump(parser, open, 'break')],
  ['continue', (parser, open) => parseJump(parser, open, 'continue')],
  ['else', (_parser, { at }) => ({ kind: 'else', at })],
  ['end', parseEnd],
]);

function parseEnd({ reader }: Parser, { at }: Token): Item {
  reader.expect('close', 'end');
  return { kind: 'end', at };
}

/** The items up to `end` or `else`. Variables declared in them end with them. */
function parseList(parser: Parser, open: Token): { readonly body: readonly Node[]; readonly ending: Ending } {
  const { reader } = parser;
  const body: Node[] = [];
  return reader.nested(() => {
    while (reader.peek().kind !== 'end') {
      const item = parseItem(parser);
      if (item.kind === 'end') return { body, ending: { kind: 'end', also: undefined, at: item.at } };
      if (item.kind === 'else') return { body, ending: parseElse(reader, item.at) };
      if (item.kind !== 'definition') body.push(item);
    }
    throw new TemplateError('this block has no end', open.at);
  });
}

function parseElse(reader: Reader, at: number): Ending {
  const also = reader.accept('word', 'if') ?? reader.accept('word', 'with');
  if (also === undefined) reader.expect('close', 'else');
  return { kind: 'else', also: also === undefined ? undefined : also.text === 'if' ? 'if' : 'with', at };
}

function parseBranches(parser: Parser, open: Token, kind: 'if' | 'with'): Node {
  const { variables } = parser.names;
  const known = variables.length;
  const branches: Branches['branches'][number][] = [];
  for (;;) {
    const pipe = parsePipe(parser.reader, parser.names, kind);
    const { body, ending } = parseList(parser, open);
    branches.push({ pipe, body });
    if (ending.kind === 'else' && ending.also === kind) continue;
    const otherwise = parseOtherwise(parser, open, ending);
    variables.length = known;
    return { kind, branches, otherwise, at: open.at };
  }
}

function parseOtherwise(parser: Parser, open: Token, ending: Ending): readonly Node[] | undefined {
  if (ending.kind === 'end') return undefined;
  if (ending.also !== undefined)
    throw new TemplateError(`else ${ending.also} does not belong to this block`, ending.at);
  const { body, ending: last } = parseList(parser, open);
  if (last.kind !== 'end') throw new TemplateError('this block has two else', last.at);
  return body;
}

function parseRange(parser: Parser, open: Token): Node {
  const { variables } = parser.names;
  const known = variables.length;
  const pipe = parsePipe(parser.reader, parser.names, 'range');
  const { body, ending } = parseList({ ...parser, ranges: parser.ranges + 1 }, open);
  const otherwise = parseOtherwise(parser, open, ending);
  variables.length = known;
  return { kind: 'range', pipe, body, otherwise, at: open.at };
}

function parseDefine(parser: Parser, open: Token): Item {
  const name = parseName(parser);
  parser.reader.expect('close', 'define');
  define(parser, name, parseOwnBody(parser, open), open.at);
  return { kind: 'definition', at: open.at };
}

function parseBlock(parser: Parser, open: Token): Node {
  const name = parseName(parser);
  const pipe = parsePipe(parser.reader, parser.names, 'block');
  define(parser, name, parseOwnBody(parser, open), open.at);
  return { kind: 'call', name, pipe, at: open.at };
}

function parseOwnBody(parser: Parser, open: Token): readonly Node[] {
  const inside = { ...parser, names: { ...parser.names, variables: ['$'] }, ranges: 0 };
  const { body, ending } = parseList(inside, open);
  if (ending.kind !== 'end') throw new TemplateError('this block has an else', ending.at);
  return body;
}

/** A body of white space only counts as not defined. */
function define({ templates }: Parser, name: string, body: readonly Node[], at: number): void {
  const isEmpty = (nodes: readonly Node[]) => nodes.every((node) => node.kind === 'text' && node.text.trim() === '');
  const known = templates.get(name);
  if (known === undefined || isEmpty(known)) templates.set(name, body);
  else if (!isEmpty(body)) throw new TemplateError(`the template "${name.slice(0, 40)}" is defined twice`, at);
}

function parseCall(parser: Parser, open: Token): Node {
  const name = parseName(parser);
  const pipe: Pipe | undefined =
    parser.reader.accept('close') === undefined ? parsePipe(parser.reader, parser.names, 'template') : undefined;
  return { kind: 'call', name, pipe, at: open.at };
}

function parseName({ reader }: Parser): string {
  const { text, at } = reader.expect('string', 'the name of a template');
  return unquote(text, at);
}

function parseJump({ reader, ranges }: Parser, { at }: Token, kind: 'break' | 'continue'): Node {
  reader.expect('close', kind);
  if (ranges === 0) throw new TemplateError(`${kind} is only for a range`, at);
  return { kind, at };
}
