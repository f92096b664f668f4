/** A Slack token in three parts, and its use: the address of a webhook or the login of a bot. */
export type SlackToken = {
  readonly kind: 'hook' | 'xoxb' | 'xoxp' | `xox${string}`;
  readonly parts: readonly string[];
};

/** Reads `hook:A-B-C`, `xoxb:1-2-c` or `A/B/C`. Undefined for other texts. */
export function readSlackToken(text: string): SlackToken | undefined {
  const [, kind = 'hook', a = '', separator = '', rest = ''] = tokenShape.exec(text) ?? [];
  const parts = [a, ...rest.split(separator === '' ? '-' : separator)];
  const [, b = '', c = ''] = parts;
  const isToken = parts.length === 3 && /^[A-Z0-9]{9,}$/.test(b) && /^[A-Za-z0-9]{24,}$/.test(c);
  return isToken ? { kind: kind.toLowerCase() as SlackToken['kind'], parts } : undefined;
}

const tokenShape = /^(?:(xox.|hook)[:-])?([A-Z0-9]{9,})([-/,])(.+)$/;
