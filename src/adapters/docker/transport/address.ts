import { ServiceError } from '../../../domain/errors.ts';
import { withoutSecretParts } from '../../../domain/settings/values/shown-text.ts';
import { quoted } from '../../../domain/text/printable.ts';

/** The address of an engine. `text` is the address as written, for messages; it never contains a secret. */
export type Address =
  | { readonly kind: 'unix'; readonly text: string; readonly path: string }
  | {
      readonly kind: 'tcp';
      readonly text: string;
      readonly host: string;
      readonly port: number;
      readonly secure: boolean;
    }
  | {
      readonly kind: 'ssh';
      readonly text: string;
      readonly host: string;
      readonly port: number | undefined;
      readonly user: string | undefined;
    };

/**
 * Reads `unix://`, `tcp://`, `http://`, `https://` and `ssh://` as the Docker command line does; `tcp://` is
 * encrypted when TLS is configured. Throws `invalid-input`.
 */
export function parseAddress(text: string, tlsConfigured: boolean): Address {
  if (text.startsWith('unix://')) return unixAddress(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const read = url && readers[url.protocol];
  if (!url || !read) throw invalid('it is not an address', text);
  if (url.password !== '') throw invalid('it holds a password', text);
  if (url.hostname === '') throw invalid('it names no host', text);
  if (url.search !== '' || url.hash !== '' || !/^\/?$/.test(url.pathname))
    throw invalid('there is something after the host and port', text);
  return read(url, text, tlsConfigured);
}

type Reader = (url: URL, text: string, tlsConfigured: boolean) => Address;

/** Docker's ports 2375 and 2376: https://docs.docker.com/engine/daemon/remote-access/ */
const readers: Readonly<Record<string, Reader>> = {
  'tcp:': (url, text, secure) => tcpAddress(url, text, { secure, defaultPort: secure ? 2376 : 2375 }),
  'http:': (url, text) => tcpAddress(url, text, { secure: false, defaultPort: 80 }),
  'https:': (url, text) => tcpAddress(url, text, { secure: true, defaultPort: 443 }),
  'ssh:': sshAddress,
};

function unixAddress(text: string): Address {
  const path = text.slice('unix://'.length);
  if (!path.startsWith('/') || path.includes('\0')) throw invalid('a socket needs an absolute path', text);
  return { kind: 'unix', text, path };
}

function tcpAddress(url: URL, text: string, how: { readonly secure: boolean; readonly defaultPort: number }): Address {
  if (url.username !== '') throw invalid('it names a user', text);
  return { kind: 'tcp', text, host: hostOf(url), port: portOf(url) ?? how.defaultPort, secure: how.secure };
}

/** Refuses a host or user that `ssh` would read as an option. */
function sshAddress(url: URL, text: string): Address {
  const host = hostOf(url);
  const user = url.username === '' ? undefined : url.username;
  if (!/^[A-Za-z0-9_.:][A-Za-z0-9_.:-]*$/.test(host)) throw invalid('its host contains invalid characters', text);
  if (user !== undefined && !/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(user))
    throw invalid('its user contains invalid characters', text);
  return { kind: 'ssh', text, host, port: portOf(url), user };
}

/** An IPv6 address without its brackets. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf(url: URL): number | undefined {
  return url.port === '' ? undefined : Number(url.port);
}

function invalid(why: string, text: string): ServiceError {
  return new ServiceError(
    'invalid-input',
    `Cannot use ${quoted(withoutSecretParts(text), 200)} as the address of a container engine: ${why}`,
    {
      remedy: 'Write unix:///path/to/socket, tcp://host:port, https://host:port or ssh://user@host',
    },
  );
}
