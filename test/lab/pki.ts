import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a temporary certificate authority and its certificates; `dockerClient` is a DOCKER_CERT_PATH. */
export type Pki = {
  readonly caFile: string;
  readonly ca: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  readonly tokenCertificate: string;
  readonly tokenKey: string;
  readonly dockerClient: string;
};

const names = [
  ...['IP:127.0.0.1', 'IP:198.18.0.1', 'DNS:localhost', 'DNS:secure.test', 'DNS:registry.test', 'DNS:ghcr.io'],
  ...['DNS:registry-1.docker.io', 'DNS:auth.docker.io'],
].join(',');

/** Made once per lab (about 100 ms), and then reused. */
export function pki(labDir: string): Pki {
  const dir = join(labDir, 'pki');
  if (!existsSync(join(dir, 'complete'))) makePki(dir);
  const file = (name: string): string => join(dir, name);
  return {
    caFile: file('ca.crt'),
    ca: readFileSync(file('ca.crt'), 'utf8'),
    serverCertificate: file('server.crt'),
    serverKey: file('server.key'),
    tokenCertificate: file('token.crt'),
    tokenKey: file('token.key'),
    dockerClient: file('docker-client'),
  };
}

function makePki(dir: string): void {
  const client = join(dir, 'docker-client');
  mkdirSync(client, { recursive: true });
  selfSigned(dir, 'ca', ['-addext', 'keyUsage=critical,keyCertSign,cRLSign']);
  selfSigned(dir, 'token', []);
  signed(dir, 'server', `subjectAltName=${names}\nextendedKeyUsage=serverAuth\n`);
  signed(dir, 'client', 'extendedKeyUsage=clientAuth\n');
  for (const [from, to] of [
    ['ca.crt', 'ca.pem'],
    ['client.crt', 'cert.pem'],
    ['client.key', 'key.pem'],
  ] as const)
    writeFileSync(join(client, to), readFileSync(join(dir, from)), { mode: 0o600 });
  writeFileSync(join(dir, 'complete'), '');
}

function selfSigned(dir: string, name: string, extensions: readonly string[]): void {
  openssl(dir, [
    'req',
    '-x509',
    ...newKey(name),
    '-days',
    '2',
    '-subj',
    `/CN=lab ${name}`,
    '-out',
    `${name}.crt`,
    ...extensions,
  ]);
}

function signed(dir: string, name: string, extensions: string): void {
  writeFileSync(join(dir, `${name}.ext`), extensions);
  openssl(dir, ['req', ...newKey(name), '-subj', `/CN=lab ${name}`, '-out', `${name}.csr`]);
  openssl(dir, [
    ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.crt`],
  ]);
}

function newKey(name: string): string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];
}

function openssl(dir: string, args: readonly string[]): void {
  execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
}
