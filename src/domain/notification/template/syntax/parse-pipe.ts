import { nearest } from '../../../text/name-pattern.ts';
import { TemplateError } from '../values/fault.ts';
import { charCode, readNumber, unquote } from './literals.ts';
import type { Token } from './lex.ts';
import type { Command, Operand, Pipe } from './nodes.ts';
import { type Reader, unexpected } from './reader.ts';

/** The names known at this position. Declarations add to `variables`. */
export type Names = { readonly functions: readonly string[]; readonly variables: string[] };

/** `$x := command | command …` up to its closing delimiter or parenthesis, which is consumed. */
export function parsePipe(reader: Reader, names: Names, where: string, end: ')' | '}}' = '}}'): Pipe {
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
