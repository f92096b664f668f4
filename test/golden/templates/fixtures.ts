import type { ContainerOutcome } from '../../../src/domain/run/session.ts';
import { Moment } from '../../../src/domain/notification/template/time.ts';
import type { Value } from '../../../src/domain/notification/template/values.ts';
import { logRoot, reportRoot, reportOf, type Entry } from '../../../src/domain/notification/watchtower-data.ts';

/** Data with which real Go and our engine render the same templates. */
export type Fixture = {
  readonly title: string;
  readonly host: string;
  readonly timeZone: string;
  readonly entries: readonly Entry[];
  readonly report: { readonly containers: readonly FixtureContainer[] } | null;
  /** Of any shape, for templates that try the language; `{ $time: ms }` is a time. */
  readonly values: unknown;
};

type FixtureContainer = {
  readonly name: string;
  readonly imageName: string;
  readonly state: 'Updated' | 'Failed' | 'Fresh' | 'Stale' | 'Skipped' | 'Restarted';
  readonly error: string;
  readonly current: string;
  readonly latest: string;
  readonly monitored: boolean;
  readonly cooldown: FixtureCooldown | null;
};

/** For our engine in milliseconds, for Go as the expected text. */
type FixtureCooldown = {
  readonly ageMs: number;
  readonly delayMs: number;
  readonly age: string;
  readonly delay: string;
  readonly remaining: string;
  readonly passed: boolean;
  readonly eligibleAtMs: number;
};

export type Root = 'report' | 'log' | 'values';

const atMs = Date.UTC(2026, 10, 22, 5, 0, 13);

const hourMs = 3_600_000;

function entry(message: string, data: Entry['data'], level: Entry['level'] = 'info'): Entry {
  return { message, level, data, atMs };
}

function container(
  name: string,
  imageName: string,
  state: FixtureContainer['state'],
  error = '',
  cooldown: FixtureCooldown | null = null,
): FixtureContainer {
  const isNew = state === 'Updated' || state === 'Failed' || state === 'Stale';
  const current = 'sha256:01d110000000aaaaaaaa';
  const latest = isNew ? 'sha256:d0a110000000bbbbbbbb' : current;
  return { name, imageName, state, error, current, latest, monitored: state === 'Stale', cooldown };
}

const common = {
  title: 'Watchtower updates on host1',
  host: 'host1',
  timeZone: 'Europe/Berlin',
  values: null,
};

const entries: readonly Entry[] = [
  entry('Found new image', { container: 'web', image: 'nginx:latest', new_id: 'd0a110000000' }),
  entry('Stopping container', { container: 'web', id: '3f1c9a2b4d5e', signal: 'SIGTERM', timeout: 10_000 }),
  entry('Started new container', { container: 'web', id: '3f1c9a2b4d5e', new_id: 'f00ba4000000' }),
  entry('Removing image', { image_name: 'nginx:latest', image_id: '01d110000000' }),
  entry('Something odd', { a: 1, b: '2' }, 'warn'),
  entry('Something plain', {}, 'error'),
];

const everyMessage: readonly Entry[] = [
  ...entries,
  entry('Stopping linked container', { container: 'app', id: '3f1c9a2b4d5e' }),
  entry('Started linked container', { container: 'app' }),
  entry('Container updated', { container: 'app', image: 'acme/app:1', old_id: '01d110000000', new_id: 'd0a110000000' }),
  entry('Removing image', { image_id: '01d110000000' }),
  entry('Image is within cooldown period - not eligible for update', {
    image: 'acme/app:1',
    cooldown: '1d',
    image_age: '2h',
    eligible_in: '22h',
    eligible_at: '2026-11-23T04:00:00+01:00',
  }),
  entry('Image age exceeds cooldown - eligible for update', { image: 'acme/app:1', cooldown: '1d', image_age: '2d' }),
  entry('Image creation time unavailable - update check unavailable', { image: 'acme/app:1', cooldown: '1d' }),
  entry('Skipping Watchtower self-update in run-once mode', {}),
  entry('Detected multiple Watchtower instances - initiating cleanup', { count: 2 }),
  entry('Successfully removed all excess Watchtower containers', { removed_instances: 1 }),
  entry('Successfully removed all excess Watchtower containers', { removed_instances: 2 }),
  entry('Only checking containers in scope', { scope: 'prod' }),
];

export const fixtures: Readonly<Record<string, Fixture>> = {
  full: {
    ...common,
    entries,
    report: {
      containers: [
        container('web', 'nginx:latest', 'Updated'),
        container('db', 'postgres:16', 'Fresh'),
        container('api', 'acme/api:1', 'Failed', 'start failed: exit 1'),
        container('tool', 'acme/tool:1', 'Skipped', 'pull access denied'),
        container('mon', 'acme/mon:1', 'Stale'),
      ],
    },
  },
  everyMessage: { ...common, entries: everyMessage, report: null },
  cooldowns: {
    ...common,
    entries,
    report: {
      containers: [
        container('web', 'nginx:latest', 'Updated', '', {
          ageMs: 49 * hourMs,
          delayMs: 24 * hourMs,
          eligibleAtMs: atMs - 25 * hourMs,
          age: '2d1h',
          delay: '1d',
          remaining: '',
          passed: true,
        }),
        container('api', 'acme/api:1', 'Skipped', 'too young', {
          ageMs: 90 * 60_000 + 1234,
          delayMs: 24 * hourMs,
          eligibleAtMs: atMs + 22.5 * hourMs - 1234,
          age: '1h30m',
          delay: '1d',
          remaining: '22h29m',
          passed: false,
        }),
        container('db', 'postgres:16', 'Fresh'),
      ],
    },
  },
  nothingUpdated: { ...common, entries: [], report: { containers: [container('db', 'postgres:16', 'Fresh')] } },
  noContainer: { ...common, entries: [], report: { containers: [] } },
  noReport: { ...common, entries: [entry('Upkeep v1', {}), entry('Using notifications: smtp', {})], report: null },
  hostile: {
    ...common,
    host: 'höst "<1>"',
    entries: [entry('Odd <&> "x" \u2028 \t\u0000 😀', { 'k y': '\\b <b>\b\f', container: "we'b" })],
    report: {
      containers: [container('wëb😀', 'acme/a&b:1', 'Failed', 'a\n"<b>" \\n'), container('r', 'r:1', 'Restarted')],
    },
  },
  values: {
    ...common,
    entries: [],
    report: null,
    values: {
      n: 7,
      big: -42,
      zero: 0,
      f: 2.5,
      g: 0.1,
      h: 1.5e21,
      s: 'héllo <w>',
      empty: '',
      tag: 'nginx:latest',
      quoted: 'a "b"\n\t\\ 😀\u0007',
      yes: true,
      no: false,
      list: [3, 1, 2],
      words: ['a', 'b & c', ''],
      mixed: [1, 'x', 2.5, true],
      none: [],
      map: { b: 'two', a: 1, ß: 3.5 },
      deep: { inner: { x: 1, list: ['p', 'q'] } },
      blank: {},
      nothing: null,
      when: { $time: atMs },
    },
  },
};

/** The same data for our engine, made by the shipped code. */
export function rootFor(fixture: Fixture, root: Root): Value {
  if (root === 'values') return valueOf(fixture.values, fixture.timeZone);
  const containers = fixture.report?.containers.map(outcomeFor);
  const report =
    containers === undefined
      ? undefined
      : reportOf({ containers, purpose: 'update', startedAtMs: atMs }, fixture.timeZone);
  return (root === 'log' ? logRoot : reportRoot)({ ...fixture, report });
}

const kinds = {
  Updated: 'updated',
  Failed: 'failed',
  Fresh: 'fresh',
  Stale: 'skipped',
  Skipped: 'skipped',
  Restarted: 'restarted',
} as const;

function outcomeFor(fixture: FixtureContainer): ContainerOutcome {
  const { name, imageName, state, error, current, latest, cooldown } = fixture;
  const isStale = state === 'Stale';
  return {
    name,
    image: imageName,
    outcome: kinds[state],
    reason: error,
    oldImageId: current,
    newImageId: isStale ? current : latest,
    oldDigest: isStale ? 'sha256:01' : '',
    newDigest: isStale ? latest : '',
    ...(cooldown && { cooldown }),
  };
}

function valueOf(value: unknown, timeZone: string): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map((element) => valueOf(element, timeZone));
  if (typeof value !== 'object' || value === null) return value as Value;
  const entriesOf = Object.entries(value);
  const [time] = entriesOf;
  if (time?.[0] === '$time') return new Moment(Number(time[1]), timeZone);
  return new Map(entriesOf.map(([key, element]) => [key, valueOf(element, timeZone)]));
}
