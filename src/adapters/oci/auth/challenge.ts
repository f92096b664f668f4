/** One authentication scheme that a server accepts, from `WWW-Authenticate`. */
export type Challenge = {
  /** In lower case: `bearer`, `basic`. */
  readonly scheme: string;
  /** Text after the scheme, unless it is a list of parameters. */
  readonly token68: string | undefined;
  /** By name in lower case. The first of a repeated name counts. */
  readonly parameters: ReadonlyMap<string, string>;
};

/**
 * Parses the challenges of a `WWW-Authenticate` field, or of several fields joined by commas. An unreadable part ends
 * the list: https://www.rfc-editor.org/rfc/rfc9110.html#section-11.6.1
 */
export function parseChallenges(field: string): readonly Challenge[] {
  const challenges: Challenge[] = [];
  const take = createReader(field);
  for (;;) {
    take(emptyElements);
    const scheme = take(token)?.[0];
    const challenge = scheme === undefined ? undefined : readChallenge(scheme.toLowerCase(), take);
    if (challenge === undefined) return challenges;
    challenges.push(challenge);
  }
}

const tokenText = "[\\w!#$%&'*+.^`|~-]+";
const elementEnd = String.raw`(?=[ \t]*(?:,|$))`;
const token = new RegExp(tokenText, 'y');
const emptyElements = /[ \t,]*/y;
const comma = /[ \t]*,[ \t,]*/y;
const end = new RegExp(elementEnd, 'y');
/** The end of the element must follow, because a parameter's `realm=` looks the same. */
const token68 = new RegExp(`[A-Za-z0-9._~+/-]+=*${elementEnd}`, 'y');
const quotedText = String.raw`"((?:[^"\\]|\\[^])*)"`;
const parameter = new RegExp(`(${tokenText})[ \\t]*=[ \\t]*(?:(${tokenText})|${quotedText})${elementEnd}`, 'y');

/** Matches a pattern at the current position and advances. Patterns are sticky, so reading is linear. */
type Take = (pattern: RegExp) => RegExpExecArray | undefined;

function createReader(text: string): Take {
  let position = 0;
  return function take(pattern) {
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (match === null) return undefined;
    position = pattern.lastIndex;
    return match;
  };
}

function readChallenge(scheme: string, take: Take): Challenge | undefined {
  const parameters = new Map<string, string>();
  const bare = take(/ +/y) === undefined ? undefined : take(token68)?.[0];
  if (bare !== undefined) return { scheme, token68: bare, parameters };
  let isWhole = take(end) !== undefined;
  take(comma);
  for (let found = take(parameter); found !== undefined; found = take(parameter)) {
    const [, name = '', plain, quoted = ''] = found;
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, plain ?? quoted.replaceAll(/\\([^])/g, '$1'));
    isWhole = true;
    if (take(comma) === undefined) break;
  }
  return isWhole ? { scheme, token68: undefined, parameters } : undefined;
}
