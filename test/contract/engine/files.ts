import { describe, expect, test } from 'vitest';
import { create, eventually, type GetFixture, run, statusOf } from './fixture.ts';

const maxBytes = 1_000_000;

export function fileRows(fixture: GetFixture): void {
  const sorted = async (id: string) => {
    const changes = await fixture().engine.containerChanges(id);
    if (typeof changes === 'string') throw new Error(changes);
    return changes.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  };
  const read = (id: string, path: string, more = {}) => fixture().engine.readFiles(id, path, { maxBytes, ...more });

  describe('containerChanges()', () => {
    test('lists nothing of a new container, and tells one that is absent', async () => {
      const id = await create(fixture(), 'web', 'service');
      expect(await fixture().engine.containerChanges(id)).toEqual([]);
      expect(await fixture().engine.containerChanges('f'.repeat(64))).toBe('absent');
    });

    test('lists what a process wrote, and what someone placed', async () => {
      const id = await create(fixture(), 'web', 'writing');
      await fixture().placeFile(id, '/etc/c1.conf', { content: 'hello' });
      await fixture().placeFile(id, '/opt/deep/ümlaut', { content: '' });
      await fixture().engine.startContainer(id);
      const found = await eventually(fixture(), async () => {
        const changes = await sorted(id);
        return changes.some(({ path }) => path === '/tmp/log') && changes;
      });
      expect(found).toEqual([
        { path: '/etc', kind: 'changed' },
        { path: '/etc/c1.conf', kind: 'added' },
        { path: '/opt', kind: 'added' },
        { path: '/opt/deep', kind: 'added' },
        { path: '/opt/deep/ümlaut', kind: 'added' },
        { path: '/tmp', kind: 'changed' },
        { path: '/tmp/log', kind: 'added' },
      ]);
    });
  });

  describe('statFile()', () => {
    test('tells kind, size and time: whole seconds from an archive, nanoseconds from a process', async () => {
      const { engine } = fixture();
      const id = await create(fixture(), 'web', 'writing');
      await fixture().placeFile(id, '/run/secrets/s1', { content: 'secret' });
      await engine.startContainer(id);
      expect(await engine.statFile(id, '/run/secrets/s1')).toEqual({
        kind: 'file',
        size: 6,
        modifiedAt: expect.stringMatching(/T\d\d:\d\d:\d\dZ$/),
      });
      expect(await engine.statFile(id, '/run/secrets')).toMatchObject({
        kind: 'folder',
        modifiedAt: expect.stringMatching(/\.\d+Z$/),
      });
      const written = await eventually(fixture(), () => engine.statFile(id, '/tmp/log'));
      expect(written).toMatchObject({ kind: 'file', modifiedAt: expect.stringMatching(/\.\d+Z$/) });
    });

    test('is undefined for what does not exist', async () => {
      const id = await create(fixture(), 'web', 'service');
      expect(await fixture().engine.statFile(id, '/etc/nothing')).toBeUndefined();
      expect(await fixture().engine.statFile(id, '/nothing/here')).toBeUndefined();
      expect(await fixture().engine.statFile(id, '/etc')).toMatchObject({ kind: 'folder' });
    });
  });

  describe('readFiles() and writeFiles()', () => {
    test('copy a file, and the copy reads the same', async () => {
      const [from, to] = [await run(fixture(), 'from', 'service'), await create(fixture(), 'to', 'service')];
      await fixture().placeFile(from, '/etc/c1', { content: 'hello', mode: 0o640 });
      const archive = (await read(from, '/etc/c1'))!;
      expect(await fixture().engine.writeFiles(to, '/etc', archive)).toEqual({ kind: 'done' });
      expect(await fixture().engine.statFile(to, '/etc/c1')).toEqual(await fixture().engine.statFile(from, '/etc/c1'));
      expect(Buffer.compare((await read(to, '/etc/c1'))!, archive)).toBe(0);
      await fixture().placeFile(to, '/etc/c1', { content: 'hallo', mode: 0o640 });
      expect(Buffer.compare((await read(to, '/etc/c1'))!, archive)).not.toBe(0);
    });

    test('copy a folder with its content, also as a folder only', async () => {
      const { engine } = fixture();
      const [from, to] = [await create(fixture(), 'from', 'service'), await create(fixture(), 'to', 'service')];
      await fixture().placeFile(from, '/opt/deep/one', { content: 'a' });
      await fixture().placeFile(from, '/opt/deep/two', { content: 'b' });
      const emptied = (await read(from, '/opt', { isFolderOnly: true }))!;
      expect(await engine.writeFiles(to, '/', emptied)).toEqual({ kind: 'done' });
      expect((await sorted(to)).map(({ path }) => path)).toEqual(['/opt']);
      expect(statusOf(await engine.writeFiles(to, '/opt', (await read(from, '/opt/deep'))!))).toBe('done');
      expect((await sorted(to)).map(({ path }) => path)).toEqual([
        '/opt',
        '/opt/deep',
        '/opt/deep/one',
        '/opt/deep/two',
      ]);
      expect(Buffer.compare((await read(from, '/opt/deep'))!, (await read(to, '/opt/deep'))!)).toBe(0);
    });

    test('are refused or empty for what does not exist, and beyond the size', async () => {
      const { engine } = fixture();
      const id = await create(fixture(), 'web', 'service');
      await fixture().placeFile(id, '/etc/large', { content: 'x'.repeat(5000) });
      const archive = (await read(id, '/etc/large'))!;
      expect(await read(id, '/etc/nothing')).toBeUndefined();
      await expect(read(id, '/etc/large', { maxBytes: 4000 })).rejects.toMatchObject({ code: 'engine-refused' });
      expect(statusOf(await engine.writeFiles(id, '/no/folder', archive))).toBe('refused 404');
      expect(statusOf(await engine.writeFiles('f'.repeat(64), '/etc', archive))).toBe('refused 404');
    });

    test('are refused for a container with a read-only file system', async () => {
      const { engine } = fixture();
      const from = await create(fixture(), 'from', 'service');
      const id = await create(fixture(), 'web', 'service', { HostConfig: { ReadonlyRootfs: true } });
      await fixture().placeFile(from, '/etc/c1', { content: 'hello' });
      const outcome = await engine.writeFiles(id, '/etc', (await read(from, '/etc/c1'))!);
      expect(statusOf(outcome)).toMatch(/^refused/);
    });
  });
}
