import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceError } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';

/** Listens, and returns the address: `http://127.0.0.1:8080`. Throws `invalid-input` when it cannot. */
export function listen(
  server: Server,
  { host, port, tls }: Pick<HttpSettings, 'host' | 'port' | 'tls'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error & { readonly code?: string }): void => {
      const where = `${host === undefined ? '' : `${host} `}port ${port}`;
      const why = reasons[cause.code ?? ''] ?? cause.message;
      reject(new ServiceError('invalid-input', `Cannot listen on ${quoted(where)}: ${why}`, { cause }));
    };
    server.once('error', onError);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', onError);
      // A server on a TCP port has an address of this type while it listens.
      resolve(urlOf(server.address() as AddressInfo, tls === undefined ? 'http' : 'https'));
    });
  });
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there already',
  EACCES: 'this process may not use that port',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'there is no host of that name',
};

/** All interfaces are shown as the loopback address, which a person can open. */
function urlOf({ address, port }: AddressInfo, scheme: string): string {
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
