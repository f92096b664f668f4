import type { Given } from '../given/given-options.ts';
import type { Schedule } from '../../domain/run/event.ts';
import type { Fault } from '../declaration/fault.ts';
import { timeZoneOf } from '../schedule/local-time-zone.ts';
import { intervalSchedule, namesSecond, readSchedule } from '../schedule/schedule.ts';

export function scheduleSource({ values, sourceOf }: Given): string | undefined {
  if (values.schedule !== undefined) return sourceOf('schedule');
  return sourceOf('intervalMs') === 'intervalMs' ? undefined : sourceOf('intervalMs');
}

/** Interval and schedule exclude each other, as in the Watchtower family. */
export function scheduleOf({ values, sourceOf }: Given, faults: Fault[]): Schedule {
  const interval = intervalSchedule(values.intervalMs);
  if (values.schedule === undefined) return interval;
  if (sourceOf('intervalMs') !== 'intervalMs') {
    const message = `Cannot use both ${sourceOf('intervalMs')} and ${sourceOf('schedule')}: both set the time of the next update`;
    faults.push({ kind: 'value', message });
  }
  return readSchedule(values.schedule, timeZoneOf(values)) ?? interval;
}

/** Milliseconds. A run of many homes at 04:00:00 would be a flood for a registry; a named second is meant. */
export function scheduleJitterOf({ values: { schedule = '', scheduleJitterMs } }: Given): number {
  return scheduleJitterMs ?? (namesSecond(schedule) ? 0 : defaultJitterMs);
}

const defaultJitterMs = 30_000;
