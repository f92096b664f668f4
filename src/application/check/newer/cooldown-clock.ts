import type { Now } from '../../../domain/check/sightings.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { Registry } from '../../../domain/outside/registry.ts';
import type { ImageReference } from '../../../domain/image/image-reference.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import { createFirstTimes } from '../../async/remember.ts';

/** Both clocks for the age of a version, after an answer of its registry. Without a cooldown, those of this machine. */
export type CooldownClock = (reference: ImageReference, cooldownMs: number) => Now;

/**
 * A wall clock that is ahead must end no cooldown: machines without a hardware clock begin with any date. So the time
 * is at most that of the registry, which the check asks anyway. Without it, ages count from the start of this process:
 * the wall clock is then before every date.
 */
export function createCooldownClock(world: {
  readonly registry: Pick<Registry, 'timeAt'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}): CooldownClock {
  const { registry, clock, log } = world;
  const isFirst = createFirstTimes(maxWarned);

  return (reference, cooldownMs) => {
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    if (cooldownMs === 0) return { nowMs, monotonicMs };
    const told = registry.timeAt(reference);
    const of = { registry: reference.registry };
    if (told === undefined) {
      if (isFirst(`${reference.registry} silent`))
        log.warn('A registry tells no time, so cooldowns of its images count from the start of this process', of);
      return { nowMs: 0, monotonicMs };
    }
    const aheadMs = nowMs - told;
    if (aheadMs > toleranceMs && isFirst(`${reference.registry} ahead`))
      log.warn('The clock of this machine is ahead of the registry: cooldowns count by the clock of the registry', {
        ...of,
        ahead: formatDuration(Math.round(aheadMs / 1000) * 1000),
      });
    return { nowMs: aheadMs > toleranceMs ? told : nowMs, monotonicMs };
  };
}

/** Clocks that are synchronised differ by less than a second, and those of hand-set machines by minutes. */
const toleranceMs = 5 * 60_000;

const maxWarned = 1000;
