/** One hostile client on its own thread: sends attacks until it is told to stop. */
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, localAddress, seed, connections } = workerData;
let state = seed;
const over = new AbortController();
let sent = 0;
const replies = {};

parentPort.on('message', () => {
  over.abort();
  setTimeout(() => parentPort.postMessage({ sent, replies }), 500).unref();
});

/** The same numbers for the same seed: https://en.wikipedia.org/wiki/Linear_congruential_generator */
function random(below) {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const pick = (list) => list[random(list.length)];
const bytes = (count) => Buffer.from(Array.from({ length: count }, () => random(256)));

const paths = [
  ...['/livez', '/readyz', '/v1/containers', '/v1/containers/details', '/v1/update', '/v1/check', '/v1/events'],
  ...['/v1/history?since=x', '/swagger/index.html', '/swagger/swagger-ui-bundle.js', '/nope', '/%zz', '//', '*'],
  ...['/v1/check?container=%5CPL%7B900%7D', `/v1/update?container=${'(a%2B)%2B'.repeat(200)}`, '/v1/config/'],
  `/${'a'.repeat(8000)}`,
];
const headers = () =>
  pick([
    '',
    'Authorization: Bearer wrong\r\n',
    `Authorization: Bearer ${'x'.repeat(9000)}\r\n`,
    `X-Forwarded-For: 10.${random(256)}.${random(256)}.1\r\nForwarded: for=x\r\n`,
    'Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n',
    `X-Request-Id: ${'i'.repeat(200)}\r\n`,
    'Connection: keep-alive, upgrade\r\nUpgrade: websocket\r\n',
    'Expect: 100-continue\r\nContent-Length: 5\r\n',
    Array.from({ length: 100 }, (_, index) => `X-${index}: y\r\n`).join(''),
  ]);
const request = () =>
  `${pick(['GET', 'GET', 'GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'FETCH', 'CONNECT'])} ${pick(paths)} HTTP/1.1\r\nHost: x\r\n${headers()}\r\n`;

/** Bytes of each attack, and the time until the client closes. */
const attacks = [
  () => [Buffer.from(request()), 2000],
  () => [Buffer.from(request()), 2000],
  () => [Buffer.from('GET /v1/containers HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50)), 2000],
  () => [Buffer.from(Array.from({ length: 20 }, request).join('')), 2000],
  () => [bytes(1 + random(3000)), 2000],
  () => [Buffer.from('GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: '), 20_000],
  () => [Buffer.alloc(0), 20_000],
  () => [Buffer.from(`POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: ${1 + random(2e6)}\r\n\r\nabc`), 5000],
  () => [Buffer.from('POST /v1/update HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nabc'), 2000],
  () => [Buffer.from('GET /swagger/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'), 5000, 'deaf'],
  () => {
    const broken = Buffer.from(request());
    broken[random(broken.length)] = random(256);
    return [broken, 2000];
  },
];

function attack() {
  return new Promise((resolve) => {
    const [data, patienceMs, isDeaf] = pick(attacks)();
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => socket.write(data));
    sent += 1;
    // The connection stays open while the next attack begins.
    const patience = setTimeout(() => socket.destroy(), patienceMs);
    const goOn = setTimeout(resolve, 100);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(patience);
      clearTimeout(goOn);
      resolve();
    });
    if (isDeaf) return;
    socket.on('data', (chunk) => {
      for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g))
        replies[status] = (replies[status] ?? 0) + 1;
    });
  });
}

async function goOn() {
  while (!over.signal.aborted) await attack();
}

for (let each = 0; each < connections; each += 1) void goOn();
