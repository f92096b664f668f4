/** Parts of a module's text that the architecture test needs. */
export type ModuleText = {
  /** Every specifier of `import … from`, `export … from`, `import '…'` and `import('…')`, in order. */
  readonly specifiers: readonly string[];
  /** The ones of `specifiers` that bring in more than types. */
  readonly loaded: readonly string[];
  /** The text with comments and the contents of strings blanked; code inside `${}` stays. Lines keep their numbers. */
  readonly code: string;
};

/**
 * Reads a module without a compiler: TypeScript 7 has no JavaScript API, and a tool that finds no
 * compiler finds no import either, and passes. A dynamic import of anything but a string literal
 * is reported as the specifier `(computed)`.
 */
export function readModuleText(source: string): ModuleText {
  const { code, strings } = blank(source);
  const found = importsOf(code, strings);
  return {
    specifiers: found.map(({ specifier }) => specifier),
    loaded: found.filter(({ onlyTypes }) => !onlyTypes).map(({ specifier }) => specifier),
    code,
  };
}

type Blanked = { readonly code: string; readonly strings: ReadonlyMap<number, string> };

/** A slash after one of these begins a regular expression rather than a division. */
const beforeRegExp = /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|yield|void|delete|throw))\s*$/;

/** Blanks everything except for code; `strings` has the literals by the position of their opening quote. */
function blank(source: string): Blanked {
  const strings = new Map<number, string>();
  const out: string[] = [];
  const braces: ('block' | 'template')[] = [];
  let at = 0;

  const keep = (length: number): void => {
    out.push(source.slice(at, at + length));
    at += length;
  };
  const drop = (end: number): void => {
    out.push(source.slice(at, end).replaceAll(/[^\n]/g, ' '));
    at = end;
  };
  const endOf = (pattern: RegExp, from: number): number => {
    const search = new RegExp(pattern, 'gm');
    search.lastIndex = from;
    return search.exec(source) === null ? source.length : search.lastIndex;
  };
  /** From just inside a template to its end or to the next `${`. */
  const template = (): void => {
    const end = endOf(/(?<!\\)(?:\\\\)*(?:`|\$\{)/, at);
    const opens = source.slice(at, end).endsWith('${');
    drop(opens ? end - 2 : end - 1);
    if (opens) braces.push('template');
    keep(opens ? 2 : 1);
  };

  while (at < source.length) {
    const rest = source.slice(at, at + 2);
    const char = rest.charAt(0);
    if (rest === '//') drop(endOf(/$/m, at));
    else if (rest === '/*') drop(endOf(/\*\//, at + 2));
    else if (char === "'" || char === '"') {
      const opening = at;
      const end = endOf(new RegExp(`(?<!\\\\)(?:\\\\\\\\)*${char}`), at + 1);
      strings.set(opening, source.slice(opening + 1, end - 1));
      keep(1);
      drop(end - 1);
      keep(1);
    } else if (char === '`') {
      keep(1);
      template();
    } else if (char === '{') {
      braces.push('block');
      keep(1);
    } else if (char === '}') {
      keep(1);
      if (braces.pop() === 'template') template();
    } else if (char === '/' && beforeRegExp.test(out.slice(-40).join(''))) {
      keep(1);
      drop(endOf(/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\[\n])*/, at));
      keep(1);
    } else keep(1);
  }
  return { code: out.join(''), strings };
}

const statement =
  /\b(?:import|export)\b(?:\s+type\b)?[\w\s{},*$]*?\bfrom\s*(["'])|\bimport\s*(["'])|\bimport\s*\(\s*(["'])?/g;

function importsOf(code: string, strings: Blanked['strings']): { specifier: string; onlyTypes: boolean }[] {
  return [...code.matchAll(statement)].map((match) => {
    const end = match.index + match[0].length - 1;
    const onlyTypes = /^(?:import|export)\s+type\b/.test(match[0]);
    return { specifier: strings.get(end) ?? '(computed)', onlyTypes };
  });
}
