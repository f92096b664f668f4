import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { clientPair, serverCa } from '../../../test/support/http/http-server.ts';
import { createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { emptyContent, putImage, serveContent } from '../../../test/support/registry/registry-content.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import type { SystemTrust } from './agents.ts';

const rig = createOciRig();
const image = parseImageReference('registry.test/team/app:1');

function certsFolder(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = rig.folder();
  mkdirSync(join(folder, 'registry.test'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, 'registry.test', name), content);
  return folder;
}

test('certificates are read where Docker keeps them, and read again after they did not help', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const server = await rig.serve(serveContent(content), { tls: true });
  const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
  const folder = certsFolder({});
  const oci = rig.registry({ proxy: { https: proxy.url }, certsFolder: folder });
  expect((await failureOf(oci.resolve(image))).message).toContain('unknown authority');
  writeFileSync(join(folder, 'registry.test', 'ca.crt'), serverCa);
  expect(await oci.resolve(image)).toBe(digest);
});

test('a registry that wants to know who we are is shown our certificate', async () => {
  const content = emptyContent();
  const { digest } = putImage(content, 'team/app:1');
  const server = await rig.serve(serveContent(content), { tls: true, clientCertificate: true });
  const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
  const options = { proxy: { https: proxy.url } };
  const without = await failureOf(rig.registry({ ...options, extraCa: [serverCa] }).resolve(image));
  expect(without.code).toBe('registry-unreachable');
  const folder = certsFolder({ 'ca.crt': serverCa, 'client.cert': clientPair.cert, 'client.key': clientPair.key });
  expect(await rig.registry({ ...options, certsFolder: folder }).resolve(image)).toBe(digest);
});

describe('the authorities of the system', () => {
  async function trusted(
    files: Readonly<Record<string, string | Buffer>>,
    trust: Partial<SystemTrust>,
    folder = rig.folder(),
  ) {
    const content = emptyContent();
    putImage(content, 'team/app:1');
    const server = await rig.serve(serveContent(content), { tls: true });
    const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const pathOf = (name: string | undefined) => (name === undefined ? undefined : join(folder, name));
    const systemTrust = {
      file: pathOf(trust.file ?? 'none'),
      folders: (trust.folders ?? []).map((name) => join(folder, name)),
      nodeFile: pathOf(trust.nodeFile),
    };
    const oci = rig.registry({ proxy: { https: proxy.url }, systemTrust });
    return oci.resolve(image).then(
      () => 'trusted',
      (error: unknown) => (String(error).includes('unknown authority') ? 'unknown' : String(error)),
    );
  }
  const known = rootCertificates[0] ?? '';

  test.each([
    ['in SSL_CERT_FILE', { 'all.pem': `${known}\n${serverCa.toString()}` }, { file: 'all.pem' }, 'trusted'],
    ['in a file of SSL_CERT_DIR', { 'a.pem': 'rubbish', 'b.0': serverCa }, { folders: ['missing', '.'] }, 'trusted'],
    [
      'in NODE_EXTRA_CA_CERTS, beside another',
      { 'all.pem': known, 'n.pem': serverCa },
      { file: 'all.pem', nodeFile: 'n.pem' },
      'trusted',
    ],
    ['that only Node knows', { 'all.pem': known }, { file: 'all.pem' }, 'unknown'],
    [
      'behind what is no certificate',
      { 'all.pem': `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${serverCa.toString()}` },
      { file: 'all.pem' },
      'trusted',
    ],
    ['in no file', {}, {}, 'unknown'],
  ])('are found %s', async (_, files, trust, expected) => {
    expect(await trusted(files, trust)).toBe(expected);
  });

  test('are found behind a link that leads out of a folder, and where one name links to another', async () => {
    const files = rig.folder();
    writeFileSync(join(files, 'ours.crt'), serverCa);
    const links = rig.folder();
    symlinkSync(join(files, 'ours.crt'), join(links, 'ours.pem'));
    symlinkSync('ours.pem', join(links, '0123abcd.0'));
    symlinkSync('missing.pem', join(links, '4567cdef.0'));
    expect(await trusted({}, { folders: [basename(links)] }, dirname(links))).toBe('trusted');
  });
});

test('a certificate that is none is named by its place, not by its content', async () => {
  const folder = certsFolder({ 'client.cert': 'rubbish', 'client.key': 'secret' });
  const error = await failureOf(rig.registry({ certsFolder: folder }).resolve(image));
  expect(error.code).toBe('registry-unreachable');
  expect(error.message).toContain(`the certificates in "${join(folder, 'registry.test')}"`);
  expect(error.message).not.toContain('secret');
});

test('a registry with older TLS than we accept is refused', async () => {
  const server = await rig.serve(() => ({}), { tls: true, maxTls: 'TLSv1.2' });
  const proxy = await rig.serve(() => ({ status: 400 }), { tunnelTo: server.port });
  const oci = rig.registry({ proxy: { https: proxy.url }, extraCa: [serverCa], tlsMinVersion: 'TLSv1.3' });
  const error = await failureOf(oci.resolve(image));
  expect(error.code).toBe('registry-unreachable');
  expect(error.message).toContain('the TLS handshake failed');
});
