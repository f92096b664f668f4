import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as tls from 'node:tls';
import { RegistryFailure } from './failure.ts';

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

export type AuthorityOptions = {
  readonly tlsMinVersion: TlsVersion;
  /** PEM files of authorities that are trusted besides the well-known ones. */
  readonly extraCa: readonly Buffer[];
  /** Docker's folder of certificates per registry; undefined: none. */
  readonly certsFolder: string | undefined;
};

/**
 * The trusted authorities for a host, and Upkeep's client certificate. Each call reads `HOST:PORT/*.crt` (authorities)
 * and `*.cert` with `*.key` (client certificate): https://docs.docker.com/engine/security/certificates/
 */
export function createAuthorities(options: AuthorityOptions): (host: string) => Promise<tls.SecureContext> {
  const { tlsMinVersion: minVersion, extraCa, certsFolder } = options;
  let common: tls.SecureContext | undefined;

  return async function contextFor(host) {
    const folder = certsFolder === undefined || host.startsWith('.') ? undefined : join(certsFolder, host);
    try {
      const own = folder === undefined ? undefined : await readCertificates(folder);
      if (own === undefined) return (common ??= tls.createSecureContext({ minVersion, ...trusting(extraCa) }));
      return tls.createSecureContext({ minVersion, ...trusting([...extraCa, ...own.ca]), ...own.client });
    } catch (cause) {
      const where = folder === undefined ? 'given as authorities' : `in "${folder}" or given as authorities`;
      throw new RegistryFailure('registry-unreachable', `the certificates ${where} cannot be used`, { host, cause });
    }
  };
}

/** A list of authorities replaces the built-in ones. Therefore these are added to extra ones. */
function trusting(extra: readonly Buffer[]): { readonly ca?: (string | Buffer)[] } {
  return extra.length === 0 ? {} : { ca: [...wellKnown(), ...extra] };
}

/** Node 22.15 and newer also include the authorities of the system and of `NODE_EXTRA_CA_CERTS`. */
function wellKnown(): readonly string[] {
  const newer: typeof tls & { readonly getCACertificates?: (kind: 'default') => string[] } = tls;
  return newer.getCACertificates?.('default') ?? tls.rootCertificates;
}

type Certificates = { readonly ca: readonly Buffer[]; readonly client: { cert: Buffer; key: Buffer } | undefined };

async function readCertificates(folder: string): Promise<Certificates | undefined> {
  const names = await filesIn(folder);
  const read = (name: string): Promise<Buffer> => readFile(join(folder, name));
  const ca = await Promise.all(names.filter((name) => name.endsWith('.crt')).map(read));
  const pair = names.find((name) => name.endsWith('.cert') && names.includes(keyOf(name)));
  const client = pair === undefined ? undefined : { cert: await read(pair), key: await read(keyOf(pair)) };
  return ca.length === 0 && client === undefined ? undefined : { ca, client };
}

function keyOf(certificate: string): string {
  return certificate.replace(/\.cert$/, '.key');
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return [];
  }
}
