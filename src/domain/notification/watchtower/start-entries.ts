import type { StartFacts } from '../run-facts.ts';
import { formatMoment } from '../template/time/format.ts';
import { Moment } from '../template/time/moment.ts';
import type { Entry } from './entries.ts';

/** The lines of the startup message. */
export function startEntries(facts: StartFacts, timeZone: string): readonly Entry[] {
  const { version, engineApiVersion, services, scope, atMs } = facts;
  const engine = engineApiVersion === '' ? '' : ` using Docker API v${engineApiVersion}`;
  const entries: Entry[] = [
    line(`Upkeep v${version}${engine}`, atMs),
    line(services.length === 0 ? 'Using no notifications' : `Using notifications: ${services.join(', ')}`, atMs),
  ];
  if (scope !== '') entries.push({ ...line('Only checking containers in scope', atMs), data: { scope } });
  return [...entries, ...scheduleLines(facts, timeZone).map((text) => line(text, atMs))];
}

function line(message: string, atMs: number): Entry {
  return { message, level: 'info', data: {}, atMs };
}

function scheduleLines(
  { runOnce, updateOnStart, servesApi, nextRunAtMs, atMs }: StartFacts,
  timeZone: string,
): string[] {
  if (runOnce) return ['Running a one time update'];
  const lines: string[] = [];
  if (updateOnStart) lines.push('Update on startup enabled: Performing immediate check');
  if (servesApi) {
    lines.push(
      nextRunAtMs === undefined
        ? 'HTTP API enabled and periodic updates disabled'
        : 'HTTP API and periodic updates enabled',
    );
  }
  if (nextRunAtMs !== undefined) {
    const when = formatMoment(new Moment(nextRunAtMs, timeZone), '2006-01-02 15:04:05 MST');
    lines.push(`Next scheduled run: ${when} in ${formatLongDuration(nextRunAtMs - atMs)}`);
  }
  return lines;
}

const units: readonly (readonly [string, number])[] = [
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** `23 hours, 59 minutes, 1 second`: zero units are omitted. */
export function formatLongDuration(ms: number): string {
  let rest = Math.max(0, Math.floor(ms / 1000));
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest %= size;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return parts.length === 0 ? '0 seconds' : parts.join(', ');
}
