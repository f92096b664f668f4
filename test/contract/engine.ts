import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { changingRows } from './engine/changing.ts';
import { commandRows } from './engine/commands.ts';
import { creatingRows } from './engine/creating.ts';
import { eventRows } from './engine/events.ts';
import type { EngineFixture } from './engine/fixture.ts';
import { imageRows } from './engine/images.ts';
import { networkingRows } from './engine/networking.ts';
import { readingRows } from './engine/reading.ts';
import { runningRows } from './engine/running.ts';

/** What every `Engine` does, whatever is behind it: the same rows for the sandbox and for a real one. */
export function engineContract(name: string, setup: () => Promise<EngineFixture>): void {
  describe(`${name} is an Engine`, { timeout: 30_000 }, () => {
    let fixture: EngineFixture;
    beforeAll(async () => {
      fixture = await setup();
    }, 60_000);
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
    ]) {
      rows(() => fixture);
    }
  });
}
