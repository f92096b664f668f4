/**
 * A check of a new container in addition to its HEALTHCHECK, before the old one is removed. No kind names a host: a
 * probe reaches only the container itself.
 */
export type HealthProbe =
  | { readonly kind: 'none' }
  /** `path` begins with a slash and may have a query. */
  | { readonly kind: 'http'; readonly port: number; readonly path: string }
  | { readonly kind: 'tcp'; readonly port: number }
  /** A command line for the container's own shell. */
  | { readonly kind: 'exec'; readonly command: string };

/** Completes "… is not". */
export const acceptedProbes = 'one of http://:PORT/PATH, tcp://:PORT, exec:COMMAND, none';

/** Undefined for any other text, such as one with a host name. */
export function parseHealthProbe(text: string): HealthProbe | undefined {
  const trimmed = text.trim();
  if (trimmed === 'none') return { kind: 'none' };
  if (trimmed.length > longestText) return undefined;
  if (trimmed.startsWith('exec:')) {
    const command = trimmed.slice('exec:'.length).trim();
    return command === '' || command.includes('\0') ? undefined : { kind: 'exec', command };
  }
  const { scheme, port: digits = '', path } = addressPattern.exec(trimmed)?.groups ?? {};
  const port = Number(digits);
  if (scheme === undefined || port < 1 || port > 65_535) return undefined;
  if (scheme === 'http') return { kind: 'http', port, path: path ?? '/' };
  return path === undefined ? { kind: 'tcp', port } : undefined;
}

/** Text of the probe, which `parseHealthProbe` accepts. */
export function formatHealthProbe(probe: HealthProbe): string {
  switch (probe.kind) {
    case 'none':
      return 'none';
    case 'http':
      return `http://:${probe.port}${probe.path}`;
    case 'tcp':
      return `tcp://:${probe.port}`;
    case 'exec':
      return `exec:${probe.command}`;
  }
}

/** For reasons and logs: without a query or a command line, which may contain a password. */
export function probeTitle(probe: HealthProbe): string {
  if (probe.kind === 'exec') return 'exec';
  return formatHealthProbe(probe).replace(/\?.*$/, '');
}

const longestText = 4096;

/** The host is empty, and the path has the characters of a path and a query: https://www.rfc-editor.org/rfc/rfc3986#section-3.3 */
const addressPattern = /^(?<scheme>http|tcp):\/\/:(?<port>[1-9]\d{0,4})(?<path>\/[\w\-.~!$&'()*+,;=:@%/?]*)?$/;
