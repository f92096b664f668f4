import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { createTestLog } from '../../test/support/test-log.ts';
import { createSandboxScene } from '../../test/support/scene/sandbox-outside.ts';
import { createApplication } from '../application/create-application.ts';
import {
  compactSeenTags,
  readSeenTag,
  type SeenTag,
  toMonotonicClock,
  toWallClock,
} from '../domain/check/known-versions.ts';
import { defaultSettings } from '../domain/settings/effective-settings.ts';
import { openMemory } from './memory.ts';

const day = 86_400_000;
const parent = mkdtempSync(join(tmpdir(), 'upkeep-memory-'));
afterAll(() => rmSync(parent, { recursive: true }));

/** A container under a cooldown of three days, whose new version has no date, and several processes that check it. */
async function begin(folder = mkdtempSync(join(parent, 'state-'))) {
  const scene = createSandboxScene();
  const publish = (version: string) => scene.registry.store.publish('app:1', { version, createdAtMs: 0 });
  publish('1');
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  publish('2');
  const start = () => {
    const log = createTestLog();
    const memory = openMemory(folder, { clock: scene.clock, log });
    const settings = { ...defaultSettings, healthWindowMs: 1000, cooldownMs: 3 * day };
    const application = createApplication(scene.startProcess().outside, settings, memory);
    return { application, log };
  };
  /** A whole process: one run, and its log lines about files. */
  const run = async () => {
    const { application, log } = start();
    const { containers } = await application.update({ trigger: 'schedule', images: [], containers: [] });
    await application.close();
    return { outcome: containers[0]?.outcome, said: log.lines.map(({ message }) => message) };
  };
  return { folder, path: join(folder, 'seen-tags.jsonl'), scene, publish, run, start };
}

describe('the memory of a cooldown', () => {
  test('lasts over a restart: it counts from when an earlier process saw the version first', async () => {
    const { scene, run, path } = await begin();
    expect((await run()).outcome).toBe('deferred');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await scene.clock.advance(2 * day);
    expect((await run()).outcome).toBe('deferred');
    await scene.clock.advance(day);
    expect(await run()).toEqual({ outcome: 'updated', said: [] });
  });

  test('begins anew with a version that came while no process ran', async () => {
    const { scene, publish, run } = await begin();
    await run();
    await scene.clock.advance(4 * day);
    publish('3');
    expect((await run()).outcome).toBe('deferred');
    await scene.clock.advance(3 * day);
    expect((await run()).outcome).toBe('updated');
  });

  test('is written only when a tag has moved', async () => {
    const { run, path, publish } = await begin();
    await run();
    const { size } = statSync(path);
    await run();
    expect(statSync(path).size).toBe(size);
    publish('3');
    await run();
    expect(statSync(path).size).toBeGreaterThan(size);
  });

  test('is of use with a torn last line and with lines of someone else', async () => {
    const { scene, run, path } = await begin();
    await run();
    appendFileSync(path, 'null\n{"reference":"x","maxMs":1,"seen":[{}]}\n{"reference":"docker.io/libr');
    await scene.clock.advance(3 * day);
    expect((await run()).outcome).toBe('updated');
  });

  test.each([
    ['of a newer version', (path: string) => writeFileSync(path, '{"file":"upkeep sightings","version":2}\n')],
    ['that is a folder', (path: string) => mkdirSync(path)],
  ])('in a file %s counts from the start of the process, and the log says so once', async (_, spoil) => {
    const { scene, run, path, start } = await begin();
    spoil(path);
    const { application, log } = start();
    for (const outcome of ['deferred', 'deferred', 'updated']) {
      const { containers } = await application.update({ trigger: 'schedule', images: [], containers: [] });
      expect(containers[0]?.outcome).toBe(outcome);
      await scene.clock.advance(1.6 * day);
    }
    await application.close();
    const said = log.lines.filter(({ message }) => message.includes('seen-tags.jsonl'));
    expect(said.length).toBeGreaterThan(0);
    expect(new Set(said.map(({ message }) => message)).size).toBe(said.length);
    expect((await run()).outcome).toBe('fresh');
  });

  test('of a full disk is that of the process', async () => {
    const { scene, start, path } = await begin();
    // Writing to it answers ENOSPC: https://man7.org/linux/man-pages/man4/full.4.html
    symlinkSync('/dev/full', path);
    const { application } = start();
    const update = async () =>
      (await application.update({ trigger: 'schedule', images: [], containers: [] })).containers[0]?.outcome;
    expect(await update()).toBe('deferred');
    await scene.clock.advance(3 * day);
    expect(await update()).toBe('updated');
    await application.close();
  });

  test('in a folder where nothing can be written is that of the process', async () => {
    const { scene, start } = await begin('/sys/upkeep');
    const { application, log } = start();
    const update = async () =>
      (await application.update({ trigger: 'schedule', images: [], containers: [] })).containers[0]?.outcome;
    expect(await update()).toBe('deferred');
    await scene.clock.advance(3 * day);
    expect(await update()).toBe('updated');
    await application.close();
    const said = log.lines.filter(({ message }) => message.includes('The sightings cannot be kept'));
    expect(said).toHaveLength(1);
  });

  test('is that of both of two processes that look at the same time', async () => {
    const { scene, start, run, path } = await begin();
    const processes = [start(), start()];
    await Promise.all(processes.map(({ application }) => application.check({ images: [], containers: [] })));
    await Promise.all(processes.map(({ application }) => application.close()));
    const [head, ...records] = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(head).toBe('{"file":"upkeep sightings","version":1}');
    expect(records).toHaveLength(2);
    await scene.clock.advance(3 * day);
    expect((await run()).outcome).toBe('updated');
  });

  test('believes no clock that is plainly wrong', async () => {
    const { scene, run } = await begin();
    scene.clock.jumpWallClock(-50 * 365 * day);
    await run();
    scene.clock.jumpWallClock(50 * 365 * day);
    expect((await run()).outcome).toBe('deferred');
    scene.clock.jumpWallClock(-10 * day);
    // A sighting in the future counts from now.
    expect((await run()).outcome).toBe('deferred');
  });
});

describe('a record of what was seen behind a tag', () => {
  const anyDigest = fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 })
    .map((hex) => `sha256:${hex}` as const);
  const anyAt = fc.integer({ min: 0, max: 100 * day });
  const nowMs = Date.UTC(2026, 5, 1);
  const anyTag = fc.record({
    reference: fc.stringMatching(/^[a-z]{1,3}$/),
    maxMs: fc.nat(),
    seen: fc.array(fc.record({ digest: anyDigest, atMs: anyAt, sawItCome: fc.boolean() }), {
      minLength: 1,
      maxLength: 64,
    }),
  });

  test('is the same after a way through a file, by a later process with another monotonic clock', () => {
    fc.assert(
      fc.property(anyTag, fc.nat(30 * day), fc.nat(), (tag, laterMs, otherClockMs) => {
        const kept = toWallClock(tag, { nowMs, monotonicMs: 100 * day });
        const read = readSeenTag(JSON.parse(JSON.stringify(kept)));
        const back = toMonotonicClock(read!, { nowMs: nowMs + laterMs, monotonicMs: otherClockMs });
        const ages = (of: SeenTag, monotonicMs: number) => of.seen.map(({ atMs }) => monotonicMs - atMs);
        expect(ages(back, otherClockMs)).toEqual(ages(tag, 100 * day + laterMs));
        expect({ ...back, seen: back.seen.map(({ digest }) => digest) }).toEqual({
          ...tag,
          seen: tag.seen.map(({ digest }) => digest),
        });
      }),
    );
  });

  test('that is anything else is none', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(readSeenTag(value)).toBeUndefined();
      }),
    );
  });

  test('is the last one of its tag, of 10,000 tags at most', () => {
    fc.assert(
      fc.property(fc.array(anyTag, { maxLength: 20 }), (tags) => {
        const compact = compactSeenTags(tags);
        expect(new Set(compact)).toEqual(new Set(new Map(tags.map((tag) => [tag.reference, tag])).values()));
        expect(compactSeenTags(compact)).toEqual(compact);
      }),
    );
    const [tag] = fc.sample(anyTag, 1);
    const many = Array.from({ length: 10_005 }, (_, at) => ({ ...tag!, reference: `app:${at}` }));
    expect(compactSeenTags(many)).toHaveLength(10_000);
    expect(compactSeenTags(many).at(-1)?.reference).toBe('app:10004');
  });
});
