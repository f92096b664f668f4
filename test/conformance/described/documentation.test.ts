import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { heldBecause, unknownBecause } from '../../../src/domain/decision/decisions.ts';
import { followEvents } from '../../support/http/event-reader.ts';
import { apiToken, eventsToken, type Reply, webhookSecret } from '../../support/http/http-scene.ts';
import { startWholeService, type WholeService } from '../../support/http/whole-service.ts';

const page = readFileSync(new URL('../../../docs/http-api.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```http\n([\s\S]*?)```/g)].map(([, text = '']) => text.trimEnd());
const requests = blocks.filter((block) => !block.startsWith('HTTP/'));
const examples = requests.map((request) => ({
  request,
  title: request.split('\n')[0],
  reply: blocks[blocks.indexOf(request) + 1] ?? '',
}));

let scene: WholeService;
beforeAll(async () => {
  scene = await startWholeService({ service: { cleanup: true } });
  for (const image of ['nginx:1.27', 'postgres:17']) scene.publish(image, '1');
  await scene.run('db', 'postgres:17');
  await scene.run('web', 'nginx:1.27', { 'upkeep.depends-on': 'db' });
  scene.publish('nginx:1.27', '2');
});
afterAll(() => scene.stop());

test('the page names every endpoint, and has an example of many', async () => {
  const { paths } = (await scene.ask('/swagger/doc.json', { token: null })).json();
  const described = Object.keys(paths).map((path) => path.replace('{id}', 'ID'));
  expect(described.filter((path) => !path.startsWith('/swagger/') && !page.includes(`${path}\``))).toEqual([]);
  const shown = examples.map(({ title = '' }) => title.replace(/^\w+ ([^?]+).*$/, '$1'));
  const others = [
    '/livez',
    '/startupz',
    '/v1/check',
    '/v1/config',
    '/v1/containers',
    '/v1/containers/details',
    '/v1/decisions/ID',
    '/v1/history',
    '/v1/images',
    '/v1/metrics/notifications',
    '/v1/notes',
    '/v1/rollback',
    '/v1/status',
  ];
  const ofOtherPrograms = ['/api/containers', '/api/v3/json'];
  expect(described.filter((path) => !path.startsWith('/swagger/') && !shown.includes(path)).toSorted()).toEqual([
    ...ofOtherPrograms,
    ...others,
  ]);
});

test('the page names every kind of reason', () => {
  const lists = [heldBecause, unknownBecause].map((kinds) => kinds.map((kind) => `\`${kind}\``).join(', '));
  const text = page.replaceAll(/\s+/g, ' ');
  expect(lists.filter((list) => !text.includes(list))).toEqual([]);
});

test.each(examples)('$title is answered as docs/http-api.md shows it', async ({ request, reply }) => {
  const { method, target, headers, body } = readRequest(request);
  const shown = readReply(reply);
  const slow = shown.status === 429 ? await holdAnUpdate() : undefined;
  const got = target.startsWith('/v1/events')
    ? await firstEvent()
    : await scene.ask(target, { method, headers, token: null, ...(body !== '' && { body: await aboutWeb(body) }) });
  expect(got.status).toBe(shown.status);
  for (const [name, value] of shown.headers) expect(got.headers[name]).toBe(value);
  if (shown.headers.get('content-type')?.includes('json'))
    expect(shapeOf(got.json())).toEqual(shapeOf(JSON.parse(shown.body)));
  else if (shown.headers.get('content-type')?.includes('event-stream'))
    expect(shapeOf(eventOf(got.text))).toEqual(shapeOf(eventOf(shown.body)));
  else expect(got.text).toContain(shown.body);
  await slow?.();
  await rested();
});

/** The body, with the digest for which the container "web" waits now. */
async function aboutWeb(body: string): Promise<string> {
  const digest = scene.publish('nginx:1.27', '3');
  await scene.ask('/v1/check?container=web', { method: 'POST' });
  return body.replace(/sha256:[0-9a-f]{64}/, digest);
}

/** Resolves during an update; the function that it returns ends the update. */
async function holdAnUpdate(): Promise<() => Promise<void>> {
  scene.registry.store.misbehave('docker.io', { kind: 'slow', ms: 500 });
  const running = scene.ask('/v1/update?container=.*', { method: 'POST' });
  while (!scene.application.status().running) await new Promise((resolve) => setTimeout(resolve, 5));
  return async () => {
    await running;
    scene.registry.store.behaveAgain('docker.io');
  };
}

async function rested(): Promise<void> {
  while (scene.application.status().running) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function firstEvent(): Promise<Reply> {
  const reader = await followEvents(scene.url);
  await scene.ask('/v1/update', { method: 'POST' });
  await reader.until((text) => text.includes('event: scan_completed'));
  reader.end();
  const { statusCode = 0, headers } = reader.response;
  return { status: statusCode, headers, text: reader.text(), json: () => undefined };
}

function readRequest(text: string) {
  const [head = '', body = ''] = text.split('\n\n');
  const [line = '', ...lines] = head.split('\n');
  const [method = '', target = ''] = line.split(' ');
  const headers = Object.fromEntries(
    lines.map((each) => each.replace(/[A-Z]+_(?:TOKEN|SECRET)/, (name) => secrets[name] ?? name).split(': ')),
  ) as Record<string, string>;
  return { method, target, headers, body };
}

const secrets: Readonly<Record<string, string>> = {
  API_TOKEN: apiToken,
  EVENTS_TOKEN: eventsToken,
  WEBHOOK_SECRET: webhookSecret,
};

function readReply(text: string) {
  const [head = '', ...body] = text.split('\n\n');
  const [line = '', ...lines] = head.split('\n');
  const headers = new Map(
    lines.map((each) => [each.split(': ')[0]?.toLowerCase() ?? '', each.replace(/^[^:]+: /, '')]),
  );
  return { status: Number(line.split(' ')[1]), headers, body: body.join('\n\n') };
}

/** Fields and their types without the values; for a list, its first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, item]) => [name, shapeOf(item)]),
  );
}

function eventOf(text: string) {
  const frame = text.split('\n\n').find((each) => each.includes('event: scan_completed')) ?? '';
  const lines = frame
    .trim()
    .split('\n')
    .map((line) => line.split(': ')[0]);
  return {
    lines: lines.join(),
    retry: text.startsWith('retry: 5000\n\n'),
    data: JSON.parse(frame.slice(frame.indexOf('{'))) as unknown,
  };
}
