import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { changingRows } from './engine/changing.ts';
import { commandRows } from './engine/commands.ts';
import { creatingRows } from './engine/creating.ts';
import { eventRows } from './engine/events.ts';
import { fileRows } from './engine/files.ts';
import type { EngineFixture } from './engine/fixture.ts';
import { imageRows } from './engine/images.ts';
import { networkingRows } from './engine/networking.ts';
import { readingRows } from './engine/reading.ts';
import { runningRows } from './engine/running.ts';
import { skipBecause } from '../lab/skip-because.ts';

/**
 * Contract of every `Engine`: the same rows for the sandbox and the real one, except for rows that the sandbox cannot
 * fulfil.
 */
export function engineContract(
  name: string,
  setup: () => Promise<EngineFixture>,
  whyNot?: (row: string) => string | undefined,
): void {
  describe(`${name} is an Engine`, () => {
    let fixture: EngineFixture;
    beforeAll(async () => {
      fixture = await setup();
    });
    beforeEach((context) => {
      const { suite, name } = context.task;
      const why = whyNot?.(`${suite?.name ?? ''} ${name}`);
      if (why !== undefined) skipBecause(context, why);
    });
    afterEach(() => fixture.reset());
    afterAll(() => fixture?.close());
    for (const rows of [
      readingRows,
      creatingRows,
      changingRows,
      runningRows,
      commandRows,
      networkingRows,
      imageRows,
      eventRows,
      fileRows,
    ]) {
      rows(() => fixture);
    }
  });
}
