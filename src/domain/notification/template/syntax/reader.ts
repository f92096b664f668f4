import { printable } from '../../../text/printable.ts';
import { TemplateError } from '../values/fault.ts';
import type { Token, TokenKind } from './lex.ts';

/** Reads the tokens once, in order, with the state that the grammar needs. */
export type Reader = {
  readonly peek: () => Token;
  readonly next: () => Token;
  /** Steps over the next token if it is this one. */
  readonly accept: (kind: TokenKind, text?: string) => Token | undefined;
  readonly expect: (kind: TokenKind, where: string) => Token;
  /** Runs one level deeper, up to a bound. */
  readonly nested: <Result>(read: () => Result) => Result;
};

/** Real templates are not deeper. Deeper ones could exhaust the stack. */
const deepest = 100;

export function createReader(tokens: readonly Token[]): Reader {
  const end: Token = tokens.at(-1) ?? { kind: 'end', text: '', at: 0, isSpaced: false };
  let index = 0;
  let depth = 0;
  const peek = () => tokens[index] ?? end;
  function next(): Token {
    const token = peek();
    index += 1;
    return token;
  }
  return {
    peek,
    next,
    accept: (kind, text) => (peek().kind === kind && (text ?? peek().text) === peek().text ? next() : undefined),
    expect(kind, where) {
      const token = next();
      if (token.kind !== kind) throw unexpected(token, where);
      return token;
    },
    nested(read) {
      depth += 1;
      if (depth > deepest) throw new TemplateError(`more than ${deepest} blocks are inside each other`, peek().at);
      const result = read();
      depth -= 1;
      return result;
    },
  };
}

export function unexpected(token: Token, where: string): TemplateError {
  const shown = token.kind === 'end' ? 'end of the template' : printable(token.text, 40);
  return new TemplateError(`unexpected ${shown} in ${where}`, token.at);
}
