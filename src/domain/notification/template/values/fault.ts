/**
 * Why a template cannot be parsed or rendered. `at` is an offset in its text; undefined: the present position of the
 * evaluator.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly at: number | undefined;

  constructor(reason: string, at?: number) {
    super(reason);
    this.at = at;
  }
}

/** `line 3, column 5: reason`; both count from 1, the column in characters. */
export function describeFault(text: string, at: number, reason: string): string {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  return `line ${line}, column ${Array.from(before.slice(lineStart)).length + 1}: ${reason}`;
}
