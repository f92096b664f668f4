import { X509Certificate } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as tls from 'node:tls';
import { HttpFailure } from './failure.ts';

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

export type AuthorityOptions = {
  readonly tlsMinVersion: TlsVersion;
  /** PEM files of authorities that are trusted besides the well-known ones. */
  readonly extraCa: readonly Buffer[];
  /** Authorities of the system, trusted too; undefined: none. */
  readonly systemTrust: SystemTrust | undefined;
  /** Docker's folder of certificates per registry; undefined: none. */
  readonly certsFolder: string | undefined;
};

/** As in Go, and so in Docker: https://pkg.go.dev/crypto/x509#SystemCertPool */
export type SystemTrust = {
  /** `SSL_CERT_FILE`; undefined: the first usual file of the system. */
  readonly file: string | undefined;
  /** `SSL_CERT_DIR` */
  readonly folders: readonly string[];
  /** `NODE_EXTRA_CA_CERTS`, which Node 20 ignores beside other authorities. */
  readonly nodeFile: string | undefined;
};

/**
 * The trusted authorities for a host, and Upkeep's client certificate. Each call reads `HOST:PORT/*.crt` (authorities)
 * and `*.cert` with `*.key` (client certificate): https://docs.docker.com/engine/security/certificates/
 */
export function createAuthorities(options: AuthorityOptions): (host: string) => Promise<tls.SecureContext> {
  const { tlsMinVersion: minVersion, extraCa, systemTrust, certsFolder } = options;
  let common: tls.SecureContext | undefined;
  let system: Promise<readonly string[]> | undefined;

  return async function contextFor(host) {
    const folder = certsFolder === undefined || host.startsWith('.') ? undefined : join(certsFolder, host);
    try {
      const own = folder === undefined ? undefined : await readCertificates(folder);
      const trusted = [...(await (system ??= readSystemTrust(systemTrust))), ...extraCa];
      if (own === undefined) return (common ??= tls.createSecureContext({ minVersion, ...trusting(trusted) }));
      return tls.createSecureContext({ minVersion, ...trusting([...trusted, ...own.ca]), ...own.client });
    } catch (cause) {
      const where = folder === undefined ? 'given as authorities' : `in "${folder}" or given as authorities`;
      throw new HttpFailure('unreachable', `the certificates ${where} cannot be used`, { host, cause });
    }
  };
}

/** A list of authorities replaces the built-in ones. Therefore these are added to extra ones. */
function trusting(extra: readonly (string | Buffer)[]): { readonly ca?: (string | Buffer)[] } {
  return extra.length === 0 ? {} : { ca: [...wellKnown(), ...extra] };
}

/** Node 22.15 and newer also include the authorities of the system and of `NODE_EXTRA_CA_CERTS`. */
function wellKnown(): readonly string[] {
  const newer: typeof tls & { readonly getCACertificates?: (kind: 'default') => string[] } = tls;
  return newer.getCACertificates?.('default') ?? tls.rootCertificates;
}

/** The system's authorities that Node does not know. A file that cannot be read, and what is no certificate, is ignored. */
async function readSystemTrust(trust: SystemTrust | undefined): Promise<readonly string[]> {
  if (trust === undefined) return [];
  const texts = [await firstOf(trust.file === undefined ? usualFiles : [trust.file])];
  if (trust.nodeFile !== undefined) texts.push(await firstOf([trust.nodeFile]));
  for (const folder of trust.folders)
    for (const name of (await filesIn(folder)).slice(0, maxFiles)) texts.push(await firstOf([join(folder, name)]));
  const found = texts.flatMap((text) => text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []);
  if (found.length === 0) return [];
  const known = new Set(wellKnown().map(withoutSpaces));
  const unknown = new Map(found.map((pem) => [withoutSpaces(pem), pem]));
  return [...unknown].flatMap(([key, pem]) => (known.has(key) || !isCertificate(pem) ? [] : [pem]));
}

/** Of Debian, Fedora, openSUSE, Enterprise Linux and Alpine. https://go.dev/src/crypto/x509/root_linux.go */
const usualFiles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** A folder of a system has some 300: each authority under two names. */
const maxFiles = 1000;

const maxFileBytes = 4 * 1024 * 1024;

/** The first of the files that can be read; empty without any. */
async function firstOf(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    try {
      const found = await stat(path);
      if (found.isFile() && found.size <= maxFileBytes) return await readFile(path, 'utf8');
    } catch {
      // Systems keep their authorities in different places.
    }
  }
  return '';
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function withoutSpaces(pem: string): string {
  return pem.replaceAll(/\s/g, '');
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
