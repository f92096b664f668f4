import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { ask } from '../support/http/http-scene.ts';
import { bundled } from './rig/bundled.ts';
import { imageNode } from './rig/image-node.ts';
import { median } from './rig/ratios.ts';

/** The HTTP interface, compared with a bare `node:http` server that sends the same bytes; both as the image runs Node. */

const rounds = 12;
const roundSeconds = 1;

const servers = bundled(new URL('rig/http-servers.mjs', import.meta.url));
const children: Child[] = [];
afterEach(() => {
  for (const { child } of children.splice(0)) child.kill();
});

test.each([100, 1000])(
  'GET /v1/containers with %d containers, rate limit and authentication on',
  async (containers) => {
    const ours = await start(['ours', String(containers)]);
    const reply = await ask(`http://127.0.0.1:${ours.port}`, '/v1/containers', { token: 'api-token' });
    expect(reply.status).toBe(200);
    const { connection: _, date: __, 'keep-alive': ___, ...headers } = reply.headers;
    const bare = await start(['bare'], JSON.stringify({ headers, body: reply.text }));
    const [ratios, cpuRatios, rates] = [[] as number[], [] as number[], [] as number[]];
    for (let round = 0; round < rounds; round += 1) {
      const [one, other] = [await load(bare), await load(ours)];
      if (round === 0) continue;
      ratios.push(other.perSecond / one.perSecond);
      cpuRatios.push(one.cpuMicros / other.cpuMicros);
      rates.push(other.perSecond);
    }
    const said = `${Math.round(median(rates))} requests a second, ${median(ratios).toFixed(2)} of the bare server's`;
    console.log(
      `GET /v1/containers, ${containers} containers: ${said} (aim 0.75); by CPU time ${median(cpuRatios).toFixed(2)}`,
    );
  },
);

test('10,000 idle event streams, and one event to all of them', async () => {
  const streams = 10_000;
  const server = await start(['--expose-gc', 'ours', '1']);
  const before = (await server.usage()).rss;
  const sockets: Socket[] = [];
  const seen = { arrived: 0, heard: 0 };
  for (let each = 0; each < streams; each += 1) {
    // Several loopback addresses, so that none runs out of ports.
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (each % 8)}` });
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString();
      if (text.includes('retry: 5000')) seen.arrived += 1;
      if (text.includes('event: scan_completed')) seen.heard += 1;
    });
    socket.write('GET /v1/events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer events-token\r\n\r\n');
    sockets.push(socket);
    if (each % 200 === 199) await sleep(10);
  }
  while (seen.arrived < streams) await sleep(20);
  await sleep(1000);
  const after = (await server.usage()).rss;
  const beganMs = performance.now();
  await server.announce();
  while (seen.heard < streams) await sleep(5);
  const tookMs = performance.now() - beganMs;
  for (const socket of sockets) socket.destroy();
  const each = (after - before) / streams / 1000;
  console.log(
    `${streams} event streams: ${each.toFixed(1)} kB each (aim 14); one event to all in ${tookMs.toFixed(0)} ms (aim 1000)`,
  );
});

type Usage = { readonly cpuMicros: number; readonly rss: number };

type Child = {
  readonly child: ChildProcessWithoutNullStreams;
  readonly port: number;
  readonly usage: () => Promise<Usage>;
  readonly announce: () => Promise<Usage>;
};

async function start(args: readonly string[], input = ''): Promise<Child> {
  const flags = args.filter((arg) => arg.startsWith('--'));
  const { node, nodeOptions } = imageNode();
  const child = spawn(node, [...nodeOptions, ...flags, servers, ...args.filter((arg) => !arg.startsWith('--'))]);
  child.stderr.pipe(process.stderr);
  if (input !== '') child.stdin.write(`${input}\n`);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  const tell = async (line: string): Promise<Usage> => {
    child.stdin.write(`${line}\n`);
    const [cpuMicros = 0, rss = 0] = (await next()).split(' ').map(Number);
    return { cpuMicros, rss };
  };
  const started = { child, port: Number(await next()), usage: () => tell('usage'), announce: () => tell('announce') };
  children.push(started);
  return started;
}

/**
 * Measured with wrk on 32 connections. It needs less time for a request than any server, so the server is the bottleneck.
 */
async function load({ port, usage }: Child): Promise<{ readonly perSecond: number; readonly cpuMicros: number }> {
  const before = (await usage()).cpuMicros;
  const url = `http://127.0.0.1:${port}/v1/containers`;
  const asked = ['-t1', '-c32', `-d${roundSeconds}s`, '-H', 'Authorization: Bearer api-token', url];
  const { stdout } = await promisify(execFile)('wrk', asked);
  const [, answered, seconds] = /(\d+) requests in ([\d.]+)s/.exec(stdout) ?? [];
  if (stdout.includes('Non-2xx') || answered === undefined) throw new Error(`wrk was refused: ${stdout}`);
  const cpuMicros = ((await usage()).cpuMicros - before) / Number(answered);
  return { perSecond: Number(answered) / Number(seconds), cpuMicros };
}
