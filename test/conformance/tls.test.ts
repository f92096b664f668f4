import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HttpScene, startHttp, testSettings } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-tls-'));
const certFile = join(folder, 'cert.pem');
const keyFile = join(folder, 'key.pem');
let scene: HttpScene;

beforeAll(async () => {
  makePair('first');
  scene = await startHttp(createScriptedService(), { settings: { tls: { certFile, keyFile } } });
});
afterAll(async () => {
  await scene.stop();
  rmSync(folder, { recursive: true });
});

describe('with a certificate and its key', () => {
  test('serves HTTPS, and says so in the description', async () => {
    expect(scene.url).toMatch(/^https:/);
    expect((await scene.ask('/v1/containers')).status).toBe(200);
    expect((await scene.ask('/swagger/doc.json')).json().schemes).toEqual(['https']);
  });

  test('refuses a connection that is older than TLS 1.2', async () => {
    await expect(
      handshake({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' }),
    ).rejects.toThrow();
    expect((await handshake({ maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2');
    expect((await handshake({})).protocol).toBe('TLSv1.3');
  });

  test('serves a new pair from the next connection on, and keeps the old one for as long as the new one is not whole', async () => {
    const [cert, key] = [readFileSync(certFile), readFileSync(keyFile)];
    expect((await handshake({})).name).toBe('first');
    makePair('second');
    expect((await handshake({})).name).toBe('second');
    const halfNew = readFileSync(certFile);
    writeFileSync(certFile, cert);
    expect((await handshake({})).name).toBe('second');
    expect(scene.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    writeFileSync(keyFile, key);
    expect((await handshake({})).name).toBe('first');
    writeFileSync(certFile, halfNew);
    rmSync(keyFile);
    expect((await handshake({})).name).toBe('first');
  });

  test('plain HTTP on the port of HTTPS gets no reply, and the service goes on', async () => {
    const { ask } = await import('../support/http/http-scene.ts');
    await expect(ask(`http://127.0.0.1:${scene.port}`, '/livez')).rejects.toThrow();
    expect((await scene.ask('/livez')).status).toBe(200);
  });
});

test('a pair that is none stops the start', async () => {
  writeFileSync(join(folder, 'not'), 'x');
  const settings = { ...testSettings, tls: { certFile: join(folder, 'not'), keyFile: join(folder, 'not') } };
  await expect(startHttp(createScriptedService(), { settings })).rejects.toThrow(/^Cannot use the TLS certificate/);
});

type Offer = { readonly minVersion?: 'TLSv1'; readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2'; readonly ciphers?: string };

function handshake(offer: Offer): Promise<{ readonly protocol: string | null; readonly name: string }> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect(
      { port: scene.port, host: '127.0.0.1', rejectUnauthorized: false, ...offer },
      () => {
        resolve({ protocol: socket.getProtocol(), name: String(socket.getPeerCertificate().subject.CN) });
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
}

function makePair(name: string): void {
  const subject = [
    '-subj',
    `/CN=${name}`,
    '-days',
    '2',
    '-nodes',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
  ];
  execFileSync('openssl', ['req', ...subject, '-keyout', keyFile, '-out', certFile], { stdio: 'pipe' });
}
