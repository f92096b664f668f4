import { printable } from '../../../text/printable.ts';
import { TemplateError } from '../values/fault.ts';

/** `open` and `close` are the delimiters; `sign` is one of `( ) | , = :=`. */
export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'dot'
  | 'field'
  | 'variable'
  | 'word'
  | 'number'
  | 'char'
  | 'string'
  | 'sign'
  | 'end';

/** `text` is as written; for a field, without its dot. `isSpaced`: white space precedes it. */
export type Token = {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
  readonly isSpaced: boolean;
};

/** The tokens of a whole template, with `end` last. Comments are removed, and text is trimmed at dashes. */
export function lex(template: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf('{{', at);
    const isTrimmed = open !== -1 && /^-[ \t\r\n]/.test(template.slice(open + 2, open + 4));
    const text = open === -1 ? template.slice(at) : template.slice(at, open);
    const kept = isTrimmed ? trimEnd(text) : text;
    if (kept !== '') tokens.push({ kind: 'text', text: kept, at, isSpaced: false });
    if (open === -1) break;
    const start = open + (isTrimmed ? 4 : 2);
    at = template.startsWith('/*', start) ? skipComment(template, start) : lexAction(template, open, start, tokens);
  }
  tokens.push({ kind: 'end', text: '', at: template.length, isSpaced: false });
  return tokens;
}

/** Cuts the white space that Go knows. A regular expression would search back from every space. */
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\r' || character === '\n';
}

function skipComment(template: string, start: number): number {
  const end = template.indexOf('*/', start + 2);
  if (end === -1) throw new TemplateError('the comment has no end', start);
  const after = closeAt(template, end + 2);
  if (after === undefined) throw new TemplateError('a comment must be alone in its action', start);
  return after;
}

/** The position after a closing delimiter at `at`, trimming or not; undefined without one. */
function closeAt(template: string, at: number): number | undefined {
  if (template.startsWith('}}', at)) return at + 2;
  if (!isSpace(template[at]) || !template.startsWith('-}}', at + 1)) return undefined;
  let after = at + 4;
  while (isSpace(template[after])) after += 1;
  return after;
}

function lexAction(template: string, open: number, start: number, tokens: Token[]): number {
  tokens.push({ kind: 'open', text: '{{', at: open, isSpaced: false });
  let at = start;
  let isSpaced = false;
  for (;;) {
    const after = closeAt(template, at);
    if (after !== undefined) {
      tokens.push({ kind: 'close', text: '}}', at, isSpaced });
      return after;
    }
    if (at >= template.length) throw new TemplateError('the action has no end', open);
    if (isSpace(template[at])) {
      isSpaced = true;
      at += 1;
      continue;
    }
    const token = lexToken(template, at, isSpaced);
    tokens.push(token.kind === 'field' ? { ...token, text: token.text.slice(1) } : token);
    at += token.text.length;
    isSpaced = false;
  }
}

/** In this order, because a number may begin with a dot like a field. */
const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ['number', /[+-]?(?:0[xX][\da-fA-F_]*(?:\.[\da-fA-F_]*)?(?:[pP][+-]?[\d_]*)?|\.?\d[\d_]*(?:[\w.]|(?<=[eE])[+-])*)/y],
  ['field', /\.[\p{L}\p{Nd}_]+/uy],
  ['dot', /\./y],
  ['variable', /\$[\p{L}\p{Nd}_]*/uy],
  ['word', /[\p{L}\p{Nd}_]+/uy],
  ['string', /"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`/y],
  ['char', /'(?:[^'\\\n]|\\[^\n])*'/y],
  ['sign', /:=|[()|,=]/y],
];

/** Characters that may follow a name without white space. */
const terminator = /[\s.,|:()]|\}\}|$/y;

function lexToken(template: string, at: number, isSpaced: boolean): Token {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const [text] = pattern.exec(template) ?? [];
    if (text === undefined) continue;
    if (kind === 'field' || kind === 'variable' || kind === 'word') checkEnd(template, at + text.length);
    return { kind, text, at, isSpaced };
  }
  if (template[at] === '"' || template[at] === '`') throw new TemplateError('the string has no end', at);
  throw new TemplateError(`unexpected ${characterAt(template, at)}`, at);
}

function checkEnd(template: string, at: number): void {
  terminator.lastIndex = at;
  if (!terminator.test(template)) throw new TemplateError(`unexpected ${characterAt(template, at)}`, at);
}

function characterAt(template: string, at: number): string {
  return printable(String.fromCodePoint(template.codePointAt(at) ?? 0), 10);
}
