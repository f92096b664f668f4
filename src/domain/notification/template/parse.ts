import { TemplateError } from './values.ts';
import { lex, unquote, createReader, unexpected, charCode, readNumber, type Token, type Reader } from './lex.ts';
import { nearest } from '../../text/name-pattern.ts';

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

/** The names known at this position. Declarations add to `variables`. */
type Names = { readonly functions: readonly string[]; readonly variables: string[] };

/** `$x := command | command …` up to its closing delimiter or parenthesis, which is consumed. */
function parsePipe(reader: Reader, names: Names, where: string, end: ')' | '}}' = '}}'): Pipe {
  const { at } = reader.peek();
  const { declares, isAssignment, first } = parseDeclarations(reader, names, where);
  const isOver = () => reader.accept(end === ')' ? 'sign' : 'close', end) !== undefined;
  if (first === undefined && isOver()) throw new TemplateError(`there is no value in ${where}`, at);
  const commands: Command[] = [parseCommand(reader, names, where, first)];
  while (!isOver()) {
    if (reader.accept('sign', '|') === undefined) throw unexpected(reader.peek(), where);
    if (isOver()) break;
    commands.push(parseCommand(reader, names, where));
  }
  for (const { operands, at: place } of commands.slice(1)) {
    if (['literal', 'nil', 'dot'].includes(operands[0].kind))
      throw new TemplateError('after | there must be a function', place);
  }
  return { declares, isAssignment, commands, at };
}

type Declarations = { declares: string[]; isAssignment: boolean; first: Operand | undefined };

/** `first`: an operand that looked like a declaration. */
function parseDeclarations(reader: Reader, names: Names, where: string): Declarations {
  const declares: string[] = [];
  for (;;) {
    const variable = reader.accept('variable');
    if (variable === undefined) {
      if (declares.length === 0) return { declares, isAssignment: false, first: undefined };
      throw unexpected(reader.peek(), where);
    }
    const sign = reader.accept('sign', ':=') ?? reader.accept('sign', '=') ?? reader.accept('sign', ',');
    if (sign === undefined) {
      if (declares.length > 0) throw unexpected(reader.peek(), where);
      return { declares, isAssignment: false, first: parseVariable(reader, names, variable) };
    }
    declares.push(variable.text);
    names.variables.push(variable.text);
    if (sign.text !== ',') return { declares, isAssignment: sign.text === '=', first: undefined };
    if (where !== 'range' || declares.length > 1)
      throw new TemplateError(`too many variables are declared in ${where}`, sign.at);
  }
}

function parseCommand(reader: Reader, names: Names, where: string, first?: Operand): Command {
  const { at } = reader.peek();
  const operands: [Operand, ...Operand[]] = [first ?? parseOperand(reader, names, where)];
  for (;;) {
    const token = reader.peek();
    const isEnd = token.kind === 'close' || (token.kind === 'sign' && (token.text === ')' || token.text === '|'));
    if (isEnd) return { operands, at: first?.at ?? at };
    if (!token.isSpaced) throw unexpected(token, where);
    operands.push(parseOperand(reader, names, where));
  }
}

function parseOperand(reader: Reader, names: Names, where: string): Operand {
  const token = reader.next();
  const { at } = token;
  switch (token.kind) {
    case 'dot':
      return withoutFields(reader, { kind: 'dot', at });
    case 'field':
      return { kind: 'fields', fields: [token.text, ...parseFields(reader)], at };
    case 'variable':
      return parseVariable(reader, names, token);
    case 'number':
      return withoutFields(reader, { kind: 'literal', value: readNumber(token.text, at), at });
    case 'char':
      return withoutFields(reader, { kind: 'literal', value: charCode(token.text, at), at });
    case 'string':
      return withoutFields(reader, { kind: 'literal', value: unquote(token.text, at), at });
    case 'word':
      return parseWord(reader, names, token, where);
    default:
      return parseParenthesis(reader, names, token, where);
  }
}

const keywords = ['block', 'break', 'continue', 'define', 'else', 'end', 'if', 'range', 'template', 'with'];

function parseWord(reader: Reader, names: Names, token: Token, where: string): Operand {
  const { text, at } = token;
  if (text === 'true' || text === 'false') {
    return withoutFields(reader, { kind: 'literal', value: text === 'true', at });
  }
  if (text === 'nil') return withoutFields(reader, { kind: 'nil', at });
  if (keywords.includes(text)) throw unexpected(token, where);
  if (!names.functions.includes(text)) throw unknownFunction(token, names);
  return withFields(reader, { kind: 'function', name: text, at });
}

function unknownFunction({ text, at }: Token, { functions }: Names): TemplateError {
  const meant = nearest(text, functions);
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
  return new TemplateError(`there is no function "${text.slice(0, 40)}"${hint}`, at);
}

function parseParenthesis(reader: Reader, names: Names, token: Token, where: string): Operand {
  if (token.kind !== 'sign' || token.text !== '(') throw unexpected(token, where);
  const pipe = reader.nested(() => parsePipe(reader, names, 'parentheses', ')'));
  return withFields(reader, { kind: 'pipe', pipe, at: token.at });
}

function parseVariable(reader: Reader, { variables }: Names, { text, at }: Token): Operand {
  if (!variables.includes(text)) {
    const meant = nearest(text, variables);
    const hint = meant === undefined || meant === '$' ? '' : `; did you mean ${meant}?`;
    throw new TemplateError(`the variable ${text.slice(0, 40)} is not declared${hint}`, at);
  }
  return { kind: 'variable', name: text, fields: parseFields(reader), at };
}

function parseFields(reader: Reader): string[] {
  const fields: string[] = [];
  while (!reader.peek().isSpaced) {
    const field = reader.accept('field');
    if (field === undefined) break;
    fields.push(field.text);
  }
  return fields;
}

function withFields(reader: Reader, start: Extract<Operand, { kind: 'function' | 'pipe' }>): Operand {
  const fields = parseFields(reader);
  return fields.length === 0 ? start : { kind: 'chain', start, fields, at: start.at };
}

function withoutFields(reader: Reader, operand: Operand): Operand {
  const token = reader.peek();
  if (token.kind === 'field' && !token.isSpaced) throw unexpected(token, 'a value that has no fields');
  return operand;
}

/** A parsed template: https://pkg.go.dev/text/template. Every `at` is an offset in the text. */
export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'action'; readonly pipe: Pipe; readonly at: number }
  | IfNode
  | WithNode
  | RangeNode
  | { readonly kind: 'call'; readonly name: string; readonly pipe: Pipe | undefined; readonly at: number }
  | { readonly kind: 'break'; readonly at: number }
  | { readonly kind: 'continue'; readonly at: number };

/** The first branch with a true value is rendered. */
type IfNode = { readonly kind: 'if'; readonly at: number } & Branches;
type WithNode = { readonly kind: 'with'; readonly at: number } & Branches;

export type Branches = {
  readonly branches: readonly Branch[];
  readonly otherwise: readonly Node[] | undefined;
};

type Branch = { readonly pipe: Pipe; readonly body: readonly Node[] };

export type RangeNode = {
  readonly kind: 'range';
  readonly pipe: Pipe;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[] | undefined;
  readonly at: number;
};

/** `declares`: names with their `$`; at most two, and two only in a range. */
export type Pipe = {
  readonly declares: readonly string[];
  readonly isAssignment: boolean;
  readonly commands: readonly Command[];
  readonly at: number;
};

export type Command = { readonly operands: readonly [Operand, ...Operand[]]; readonly at: number };

export type Operand =
  | { readonly kind: 'literal'; readonly value: string | bigint | number | boolean; readonly at: number }
  | { readonly kind: 'nil'; readonly at: number }
  | { readonly kind: 'dot'; readonly at: number }
  | { readonly kind: 'fields'; readonly fields: readonly string[]; readonly at: number }
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[]; readonly at: number }
  | { readonly kind: 'function'; readonly name: string; readonly at: number }
  | { readonly kind: 'pipe'; readonly pipe: Pipe; readonly at: number }
  | {
      readonly kind: 'chain';
      readonly start: Extract<Operand, { kind: 'function' | 'pipe' }>;
      readonly fields: readonly string[];
      readonly at: number;
    };
