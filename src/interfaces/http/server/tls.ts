import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerOptions } from 'node:http';
import { createSecureContext } from 'node:tls';
import { ServiceError } from '../../../domain/text/errors.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { TlsFiles } from '../../../domain/settings/http-settings.ts';
import type { Door } from './door.ts';
import type { HttpResponse } from '../replies/errors.ts';
import { watchFiles } from '../guards/auth.ts';

/** An HTTPS server that reads its certificate again when the files change. A new one applies to new connections. */
export function createTlsServer(
  { certFile, keyFile }: TlsFiles,
  options: ServerOptions<typeof IncomingMessage, typeof HttpResponse>,
  { listener, log }: { readonly listener: Door; readonly log: Log },
): Server {
  const pair = watchPair({ certFile, keyFile }, log);
  let active = pair();
  const server = createServer({ ...options, ...active }, listener);
  server.prependListener('connection', () => {
    const current = pair();
    if (current === active) return;
    active = current;
    server.setSecureContext(current);
  });
  return server;
}

function watchPair({ certFile, keyFile }: TlsFiles, log: Log) {
  try {
    return watchFiles([certFile, keyFile], {
      read: ([cert = '', key = '']) => {
        // A new certificate without its key must not replace the old pair.
        createSecureContext({ cert, key });
        return { cert, key, minVersion: 'TLSv1.2' as const };
      },
      log,
    });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError('invalid-input', `Cannot use the TLS certificate ${quoted(certFile)}: ${why}`, { cause });
  }
}
