import { expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { runReportingFailures } from '../cli.ts';
import { data } from './data.ts';
import { recover } from './recover.ts';
import { rollback } from './rollback.ts';

const copy = {
  container: 'web',
  volume: 'upkeep-data-web-1f0c6f7a9d3b2e41',
  transactionKey: '1f0c6f7a9d3b2e41',
  takenAtMs: Date.UTC(2026, 0, 2, 4),
  keptUntilMs: Date.UTC(2026, 0, 4, 4),
  ...({ kind: 'labelled', transaction: 'one', bytes: 412_000_000, files: 5016 } as const),
};

const { keptUntilMs: _, ...left } = copy;
const { transaction: _1, bytes: _2, files: _3, ...named } = left;

async function run(argv: readonly string[], command = data) {
  const copies = [
    copy,
    { ...copy, container: 'db', volume: 'other' },
    { ...left, container: 'old' },
    { ...left, container: 'open', isNeeded: true as const },
    { ...named, container: 'back', kind: 'stray' as const },
  ];
  const scene = createCommandScene(argv, { keptCopies: copies });
  return { ...scene, code: await runReportingFailures(command, scene.context) };
}

test('data list shows size, time and volume of each kept copy, and of the named ones only', async () => {
  const { fake, code } = await run(['data', 'list', 'web']);
  expect(code).toBe(0);
  const [titles, line, ...rest] = fake.out().split('\n');
  expect(titles).toMatch(/^CONTAINER +TAKEN +KEPT UNTIL +SIZE +FILES +VOLUME/);
  expect(line).toMatch(/^web +2026-01-02T04:00Z +2026-01-04T04:00Z +412 MB +5,016 +upkeep-data-web-1f0c6f7a9d3b2e41$/);
  expect(rest).toEqual(['']);
  expect((await run(['data'])).fake.out()).toContain('db ');
});

test('data list says that no copy is kept only if none is', async () => {
  const { context, fake } = createCommandScene(['data', 'list']);
  expect(await data(context)).toBe(0);
  expect(fake.out()).toBe('No copy of data is kept.\n');
});

test('data list names the containers that it finds no copy of, because others may have one', async () => {
  expect((await run(['data', 'list', 'nobody'])).fake.out()).toBe('No copy of the data of "nobody" is kept.\n');
  expect((await run(['data', 'list', 'a', 'b'])).fake.out()).toBe('No copy of the data of "a", "b" is kept.\n');
});

test('data list tells no size of a volume that a power cut has brought back', async () => {
  const { fake } = await run(['data', 'list', 'back']);
  expect(fake.out()).toMatch(/^back +2026-01-02T04:00Z +you remove it +– +– +upkeep-data-web-1f0c6f7a9d3b2e41$/m);
  const { copies } = JSON.parse((await run(['data', 'list', 'back', '--json'])).fake.out());
  expect(copies).toEqual([
    { container: 'back', volume: 'upkeep-data-web-1f0c6f7a9d3b2e41', taken_at: '2026-01-02T04:00:00.000Z' },
  ]);
});

test('data list tells a copy that an update has left from one that an update still needs', async () => {
  expect((await run(['data', 'list', 'old'])).fake.out()).toMatch(/^old +2026-01-02T04:00Z +you remove it +412 MB/m);
  expect((await run(['data', 'list', 'open'])).fake.out()).toMatch(
    /^open +2026-01-02T04:00Z +its update ends +412 MB/m,
  );
  const { copies } = JSON.parse((await run(['data', 'list', 'old', 'open', '--json'])).fake.out());
  expect(copies.map(({ unfinished }: { unfinished?: boolean }) => unfinished)).toEqual([undefined, true]);
  expect(Object.keys(copies[0])).not.toContain('kept_until');
});

test('data list --json has bytes and times as the API writes them', async () => {
  const { fake } = await run(['data', 'list', 'web', '--json']);
  expect(JSON.parse(fake.out())).toMatchObject({
    copies: [{ container: 'web', bytes: 412_000_000, files: 5016, taken_at: '2026-01-02T04:00:00.000Z' }],
  });
});

test('data remove removes the copies of the named containers, and of no others', async () => {
  const { fake, application, code } = await run(['data', 'remove', 'web']);
  expect([code, application.asked]).toEqual([0, [['removeKeptCopies', ['web']]]]);
  expect(fake.out()).toBe('Removed the copy of web\n');
});

test.each([
  [['data', 'remove'], 'no container is named'],
  [['data', 'erase', 'web'], 'expected list or remove'],
])('%j does nothing', async (argv, message) => {
  const { fake, application, code } = await run(argv);
  expect([code, application.asked]).toEqual([2, []]);
  expect(fake.err()).toContain(message);
});

test('recover passes on what a person wants for containers whose data cannot be put back', async () => {
  const order = async (...argv: string[]) => (await run(['recover', ...argv], recover)).application.asked[0]?.[1];
  expect(await order('web', '--keep-new')).toEqual({ names: ['web'], choice: 'keep-new' });
  expect(await order('web', '--without-data')).toEqual({ names: ['web'], choice: 'without-data' });
  expect(await order()).toBeUndefined();
});

test.each([[['--keep-new']], [['web', '--keep-new', '--without-data']]])('recover %j does nothing', async (argv) => {
  const { application, code } = await run(['recover', ...argv], recover);
  expect([code, application.asked]).toEqual([2, []]);
});

test('rollback passes on what becomes of the data, and nothing without an answer', async () => {
  const order = async (...argv: string[]) =>
    (await run(['rollback', 'web', ...argv], rollback)).application.asked[1]?.[1];
  expect(await order('--data', 'restore')).toEqual({ names: ['web'], data: 'restore' });
  expect(await order('--data=leave')).toEqual({ names: ['web'], data: 'leave' });
  expect(await order()).toEqual(['web']);
});
