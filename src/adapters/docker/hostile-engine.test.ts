import type { EngineEvent } from '../../domain/outside/engine.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../test/support/engine/connected-engine.ts';
import type { Answer } from '../../../test/support/engine/scripted-engine.ts';
import { ServiceError } from '../../domain/text/errors.ts';

const id = 'a'.repeat(64);
const soon = { deadlines: { readMs: 300, changeMs: 300 } };

/** All reading calls. */
const reads: readonly (readonly [string, (engine: Engine) => Promise<unknown>])[] = [
  ['a list of containers', (engine) => engine.listContainers()],
  ['a list of images', (engine) => engine.listImages()],
  ['a list of networks', (engine) => engine.listNetworks()],
  ['a container', (engine) => engine.inspectContainer(id)],
  ['an image', (engine) => engine.inspectImage(id)],
];

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.then(
    (value) => new Error(`no failure, but ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof ServiceError) return error;
  throw error;
}

function answer(text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_, response) => void response.writeHead(200, headers).end(text);
}

/** Writes to the socket directly, without the HTTP server. */
function raw(text: string): Answer {
  return (_, response) => void response.socket?.end(text);
}

const wrongEverywhere: readonly (readonly [string, Answer])[] = [
  ['text', answer('"ok"')],
  ['a number', answer('7')],
  ['true', answer('true')],
  ['nothing', answer('')],
  ['half of it', answer('[{"Id":"aaaa')],
  ['a page', answer('<html><script>alert(1)</script>')],
  ['compressed bytes', answer('\u001f\u008b\u0008', { 'content-encoding': 'gzip' })],
  ['brackets without end', answer('['.repeat(100_000))],
  ['less than was promised', raw('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]')],
  ['chunks that are none', raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n')],
  ['another protocol', raw('220 mail.example ESMTP\r\n')],
  ['thousands of headers', raw(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(10_000)}\r\n[]`)],
  ['a switch of protocols', raw('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')],
];

describe.each(reads)('asked for %s, an engine that answers with', (what, read) => {
  test.each(wrongEverywhere)('%s is refused, and nothing is believed', async (_, script) => {
    const { engine } = await connectedEngine({ script: { '*': script } }, soon);
    const error = await failureOf(read(engine));
    expect(error.code).toMatch(/^(?:engine-refused|engine-unreachable|timeout)$/);
    expect(error.message).toMatch(/^Cannot .{10,300}$/);
  });

  test.each([what.startsWith('a list') ? '{}' : '[]', '{"Id":7}', '{"message":"hello"}'])(
    '%s is refused, and nothing is believed',
    async (text) => {
      const { engine } = await connectedEngine({ script: { '*': answer(text) } });
      expect((await failureOf(read(engine))).code).toBe('engine-refused');
    },
  );
});

test('an empty list may be written as null', async () => {
  const { engine } = await connectedEngine({ script: { '*': answer('null') } });
  expect(await engine.listContainers()).toEqual([]);
});

test('an engine that sends a byte now and then is waited for until the deadline only', async () => {
  const trickle: Answer = (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  };
  const { engine } = await connectedEngine({ script: { '*': trickle } }, soon);
  expect((await failureOf(engine.listContainers())).code).toBe('timeout');
});

test.each([
  ['containers', () => JSON.stringify({ Id: id, Names: ['/web'], Labels: { a: 'x'.repeat(100_000) } }) + ','],
  ['one entry', () => '["' + 'x'.repeat(100_000)],
  ['blanks', () => ' '.repeat(100_000)],
])('a list without end, of %s, is read until the deadline only', async (what, piece) => {
  const flood: Answer = (_, response) => {
    response.writeHead(200);
    response.write(what === 'blanks' ? ' ' : '[');
    const more = (): void => {
      while (!response.destroyed && response.write(piece()));
    };
    response.on('drain', more);
    more();
  };
  const { engine } = await connectedEngine({ script: { '*': flood } }, soon);
  expect((await failureOf(engine.listContainers())).code).toBe('timeout');
});

test.each(['1,', '{},', '"",', 'null,', `{"Id":"${id}"},`])(
  'a list of more entries than any engine has is not read on: of %s',
  async (entry) => {
    let sent = 0;
    const flood: Answer = (_, response) => {
      response.writeHead(200);
      response.write('[');
      const more = (): void => {
        for (; !response.destroyed && sent < 3_000_000; sent += 10_000)
          if (!response.write(entry.repeat(10_000))) return;
      };
      response.on('drain', more);
      more();
    };
    const { engine } = await connectedEngine({ script: { '*': flood } });
    const lists = [() => engine.listContainers(), () => engine.listImages(), () => engine.listNetworks()];
    for (const list of lists) {
      sent = 0;
      expect(await failureOf(list())).toMatchObject({
        code: 'engine-refused',
        message: expect.stringContaining('more than 200,000 entries'),
      });
      expect(sent).toBeLessThan(3_000_000);
    }
  },
);

test('50,000 containers are a list like another', async () => {
  const many = Array.from({ length: 50_000 }, (_, index) => ({
    Id: index.toString(16).padStart(64, '0'),
    Names: [`/container-${index}`],
    Image: 'registry.test/team/app:1',
    ImageID: `sha256:${id}`,
    State: 'running',
    Labels: { a: 'b' },
  }));
  const { engine } = await connectedEngine({ script: { '*': many } });
  const ids = many.map(({ Id }) => Id);
  expect(await engine.listContainers()).toHaveLength(50_000);
  expect(await engine.listContainers({ ids: ids.toReversed() })).toHaveLength(50_000);
});

describe('a list with entries that are too large', () => {
  const other = 'b'.repeat(64);
  const bulk = { some: 'x'.repeat(9_000_000) };

  /** Entries of some kilobytes, without a pause between them. */
  function sending(entries: readonly object[]): Answer {
    return (_, response) => void response.writeHead(200).end(JSON.stringify(entries));
  }

  test.each<readonly [string, string, readonly object[], (engine: Engine) => Promise<readonly object[]>]>([
    [
      'container "a\\u202ename" (bbbbbbbbbbbb)',
      'containers',
      [
        { Id: other, Names: ['/a\u202ename'], Image: 'x', Labels: bulk },
        { Id: id, Names: ['/web'] },
      ],
      (engine) => engine.listContainers(),
    ],
    [
      'image "bbbbbbbbbbbb"',
      'images',
      [{ Id: id }, { Containers: -1, Id: `sha256:${other}`, Labels: bulk, RepoTags: ['team/app:1'] }],
      (engine) => engine.listImages(),
    ],
    [
      'network "net" (bbbbbbbbbbbb)',
      'networks',
      [{ Name: 'net', Id: other, Labels: bulk }, { Id: id }],
      (engine) => engine.listNetworks(),
    ],
  ])('the %s is left out of the %s alone, and is named once', async (named, _, entries, list) => {
    const warnings: string[] = [];
    const log = { warn: (message: string) => void warnings.push(message) };
    const { engine } = await connectedEngine({ script: { '*': sending(entries) } }, { log });
    expect(await list(engine)).toMatchObject([{ id }]);
    expect(await list(engine)).toMatchObject([{ id }]);
    expect(warnings).toEqual([expect.stringMatching(/^The .* is ignored/)]);
    expect(warnings[0]).toContain(named);
  });

  test('a container that is too large to be inspected fails alone', async () => {
    const inspected = { Id: id, Config: { Env: [`A=${'x'.repeat(9_000_000)}`] } };
    const { engine } = await connectedEngine({ script: { [`GET /containers/${id}/json`]: inspected } });
    expect(await failureOf(engine.inspectContainer(id))).toMatchObject({
      code: 'engine-refused',
      message: `Cannot inspect the container "${id}": the engine's answer is larger than 8 MB`,
    });
  });
});

test('events of hostile attributes are handed on as data; lines that are none end the stream, not the service', async () => {
  const evil = { name: 'a\nb\u001b[2J\u202e', __proto__: null, image: '<script>' };
  const event = { Type: 'container', Action: 'start\ndie', Actor: { ID: id, Attributes: evil }, timeNano: 'x' };
  let streams = 0;
  const { engine } = await connectedEngine({
    script: {
      'GET /events': (_, response) => {
        streams += 1;
        response.writeHead(200);
        if (streams === 1) response.end(`null\n[]\n7\n{"Type":"container","Action":{}}\n${'x'.repeat(70_000)}\n`);
        else if (streams === 2) response.end('{'.repeat(2_000_000));
        else response.write(`${JSON.stringify(event)}\n`);
      },
    },
  });
  const leaving = new AbortController();
  const heard: EngineEvent[] = [];
  for await (const each of engine.events(leaving.signal)) {
    heard.push(each);
    if (each.kind === 'container') leaving.abort();
  }
  const kinds = heard.map(({ kind }) => kind);
  // A line that is too long counts as a change.
  expect(kinds).toEqual(['connected', 'connected', 'connected', 'connected', 'container']);
  expect(heard.at(-1)).toMatchObject({ action: 'start\ndie', id, attributes: evil, timeMs: 0 });
});
