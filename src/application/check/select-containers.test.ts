import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import { applyFilters } from '../../domain/check/selection.ts';
import { stopMatchingInTime } from './select-containers.ts';

test('matching ends with an error once it has taken too long, whatever is matched', async () => {
  const clock = createFakeClock();
  const watched = Array.from({ length: 10 }, (_, index) => ({
    container: containerSummary(`web-${index}`),
    labelSettings: {} as never,
    warnings: [],
  }));
  const filters = [
    { images: [], containers: ['web-.*'] },
    { images: ['web:1'], containers: [] },
  ];
  for (const each of filters) {
    const onMatch = stopMatchingInTime(clock);
    const apply = () => applyFilters({ watched, unwatched: [] }, each, () => undefined, onMatch);
    apply();
    await clock.advance(1000);
    const referenceOf = () => ({}) as never;
    expect(() => applyFilters({ watched, unwatched: [] }, each, referenceOf, onMatch)).toThrow('take too long');
  }
});
