import fc from 'fast-check';
import { createServer, type Socket, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { parseDigest, parseImageReference } from '../../domain/image/image-reference.ts';
import { errorTextOf } from './answer.ts';
import { HttpFailure } from '../http/exchange.ts';
import { parseImageConfig } from './describe-image.ts';
import { parseManifest } from './manifest.ts';
import { requestsLeft, retryAfterMs } from './throttle.ts';

const rig = createOciRig();

const names = ['mediaType', 'schemaVersion', 'manifests', 'config', 'layers', 'digest', 'platform', 'os', 'errors'];
const moreNames = ['architecture', 'variant', 'created', 'message', 'code', 'details', '__proto__'];
const values = [
  `sha256:${'a'.repeat(64)}`,
  'sha256:A',
  'linux',
  'application/vnd.oci.image.index.v1+json',
  '2026-01-01T',
];
const { tree } = fc.letrec((tie) => ({
  leaf: fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(...values, 'a\u001b[2J\u202e\n')),
  tree: fc.oneof(
    tie('leaf'),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names, ...moreNames), tie('tree'), { maxKeys: 8 }),
  ),
}));
const bodies = fc.oneof(
  tree.map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
);

test('parseManifest() throws nothing but its failure, and names only digests', () => {
  fc.assert(
    fc.property(bodies, fc.option(fc.string(), { nil: undefined }), (body, type) => {
      try {
        const manifest = parseManifest(body, type);
        const digests =
          manifest.kind === 'image' ? [manifest.configDigest] : manifest.entries.map((each) => each.digest);
        for (const digest of digests) expect(parseDigest(digest)).toBe(digest);
      } catch (error) {
        if (!(error instanceof HttpFailure)) throw error;
        expect(error.code).toBe('invalid');
        expect(error.message).not.toMatch(/\p{C}/u);
      }
    }),
    { numRuns: 500 },
  );
});

test('parseImageConfig() and whyOf() tell what is printable, short and of a calendar, whatever the body', () => {
  fc.assert(
    fc.property(bodies, (body) => {
      const { platform, createdAtMs } = orRefused(() => parseImageConfig(body));
      for (const text of [...Object.values(platform ?? {}), errorTextOf({ body, showable: String })]) {
        expect(text).not.toMatch(/\p{C}/u);
        expect(text.length).toBeLessThanOrEqual(200);
      }
      if (createdAtMs !== undefined) expect(new Date(createdAtMs).toISOString()).toMatch(/^\d{4}-/);
    }),
    { numRuns: 500 },
  );
});

function orRefused(read: () => ReturnType<typeof parseImageConfig>): ReturnType<typeof parseImageConfig> {
  try {
    return read();
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid', message: expect.not.stringMatching(/\p{C}/u) });
    return { platform: undefined, createdAtMs: undefined };
  }
}

test.each([
  ['names', `{"config":{"Labels":{${Array.from({ length: 100_000 }, (_, n) => `"${n}":""`).join(',')}}}}`],
  ['lists in lists', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['entries', `{"history":[${'0,'.repeat(100_000)}0]}`],
])('a config or a manifest with very many %s is not parsed', (_, body) => {
  for (const read of [parseImageConfig, (bytes: Buffer) => parseManifest(bytes, undefined)])
    expect(() => read(Buffer.from(body))).toThrow('has very many fields');
});

test('retryAfterMs() and requestsLeft() tell sane numbers or none, whatever the headers', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.stringMatching(/^-?\d{0,20}(?:\.\d+)?(?:;w=\d+)?$/),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  fc.assert(
    fc.property(texts, bodies, (text, body) => {
      const answer = { status: 429, headers: { 'retry-after': text, 'ratelimit-remaining': text }, body };
      const waitMs = retryAfterMs(answer, 0) ?? 0;
      expect(waitMs).toBeGreaterThanOrEqual(0);
      expect(waitMs).toBeLessThanOrEqual(3_600_000);
      expect(requestsLeft(answer) ?? 0).toSatisfy((left: number) => Number.isSafeInteger(left) && left >= 0);
    }),
  );
});

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

test.each([
  ['thousands of headers', `HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(20_000)}\r\n`],
  ['a header without an end', `HTTP/1.1 200 OK\r\nX-A: ${'b'.repeat(1_000_000)}`],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ['hints without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10_000)],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['a length below zero', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
  ['a chunk of the size of a galaxy', `${chunked}ffffffffffffffffff\r\nx`],
  ['a chunk extension without end', `${chunked}1;${'x'.repeat(1_000_000)}`],
  ['two answers at once', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'.repeat(2)],
])('a registry that answers with %s is a failure that says so', async (_, text) => {
  const host = await serveRaw(text);
  const oci = rig.registry({ requestDeadlineMs: 500 });
  const error = await failureOf(oci.resolve(parseImageReference(`${host}/team/app:1`)));
  expect(error.code).toMatch(/^(?:registry-invalid|registry-unreachable|timeout)$/);
  expect(error.message).toMatch(/^Cannot check .{20,400}$/);
});

test.each(['registry.test:99999', '256.256.256.256', 'registry.123', 'xn--a.test'])(
  'a registry of the name %s is a failure that says so',
  async (host) => {
    const error = await failureOf(rig.registry().resolve(parseImageReference(`${host}/team/app:1`)));
    expect(error.code).toBe('registry-unreachable');
    expect(error.message).toBe(`Cannot check "${host}/team/app:1" at "${host}": no host can have that name or port`);
  },
);

/** A server that sends the same text to every request, and then waits. */
async function serveRaw(text: string): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    // A TLS handshake begins with this byte: https://www.rfc-editor.org/rfc/rfc8446#section-5.1
    socket.on('data', (request) => (request[0] === 0x16 ? socket.end('no TLS') : socket.write(text)));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
