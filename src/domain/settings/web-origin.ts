/** The origins of web pages that are allowed: one, all subdomains of one (`https://*.example.com`), or all. */
export type OriginPattern =
  | { readonly kind: 'any' }
  | { readonly kind: 'exact'; readonly origin: string }
  | { readonly kind: 'subdomains'; readonly scheme: string; readonly domain: string; readonly port: string };

/**
 * Undefined if the text is not an origin: https://www.rfc-editor.org/rfc/rfc6454#section-7. Names of containers may
 * have underscores, and browsers open them.
 */
export function parseOriginPattern(text: string): OriginPattern | undefined {
  if (text === '*') return { kind: 'any' };
  const [, scheme = '', wildcard, host = '', port = ''] =
    /^(https?):\/\/(\*\.)?(\w(?:[\w.-]*\w)?|\[[\da-f:.]+\])(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  if (scheme === '' || host.includes('..') || Number(port) > 65_535) return undefined;
  const normal = { scheme: scheme.toLowerCase(), port: port === defaultPorts[scheme.toLowerCase()] ? '' : port };
  const domain = host.toLowerCase();
  if (wildcard !== undefined) return domain.startsWith('[') ? undefined : { kind: 'subdomains', domain, ...normal };
  return { kind: 'exact', origin: print(normal.scheme, domain, normal.port) };
}

/** Whether the `Origin` of a request is allowed. `null` and malformed origins are allowed only with `*`. */
export function isAllowedOrigin(origin: string, patterns: readonly OriginPattern[]): boolean {
  const given = parseOriginPattern(origin);
  return patterns.some((pattern) => {
    if (pattern.kind === 'any') return true;
    if (given?.kind !== 'exact') return false;
    if (pattern.kind === 'exact') return pattern.origin === given.origin;
    const { scheme, domain, port } = pattern;
    const [start, end] = [`${scheme}://`, `.${print('', domain, port).slice('://'.length)}`];
    return (
      given.origin.startsWith(start) && given.origin.endsWith(end) && given.origin.length > start.length + end.length
    );
  });
}

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' };

function print(scheme: string, host: string, port: string): string {
  return `${scheme}://${host}${port === '' ? '' : `:${port}`}`;
}
