import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { digestOf } from '../../../../test/support/scene/builders.ts';
import type { DecisionFault, DecisionRequest } from '../../../domain/decision/decisions.ts';
import type { DecisionSource, KeptDecision } from '../context/decision-sources.ts';
import { createDecide, createUnskip } from './decide.ts';

const digest = digestOf('next');
const short = digest.replace('sha256:', '').slice(0, 12);

type SourceOptions = {
  readonly fault?: DecisionFault;
  readonly isKept?: boolean;
  /** The engines with a container of that name; nothing newer is known on `idle`. */
  readonly on?: ReadonlyMap<string, readonly string[]>;
};

/** Decisions of one process: `web` and `db` wait for a version, `calm` for none. */
function sourceOf({ fault, isKept = true, on = new Map() }: SourceOptions = {}) {
  const decisions: KeptDecision[] = [];
  const source: DecisionSource = {
    candidates: async ({ names, engines }) =>
      names.flatMap((name) => {
        const versions = name === 'known' ? { from: '1.27', to: '1.28.1' } : {};
        const waits = { name, digest: name === 'calm' ? undefined : digest, ...versions };
        if (!on.has(name)) return [waits];
        const having = on.get(name)?.filter((engine) => engines.length === 0 || engines.includes(engine)) ?? [];
        return having.map((engine) => ({ ...waits, engine, ...(engine === 'idle' && { digest: undefined }) }));
      }),
    take: async (request: DecisionRequest) => {
      if (fault !== undefined) return fault;
      const { untilMs } = request;
      const taken: KeptDecision = {
        ...request,
        untilMs,
        digest,
        id: `${request.engine ?? ''}/${request.container}`,
        tag: '1.28',
        atMs: 0,
        isKept,
      };
      decisions.push(taken);
      return taken;
    },
    list: async (engines) => decisions.filter(({ engine = '' }) => engines.length === 0 || engines.includes(engine)),
    withdraw: async (id) => {
      const place = decisions.findIndex((one) => one.id === id);
      return place < 0 ? undefined : decisions.splice(place, 1)[0];
    },
  };
  return { source, decisions };
}

test('upkeep approve shows the change of the version, as upkeep check does', async () => {
  const { context, fake } = createCommandScene(['approve', 'known']);
  expect(await createDecide('approve', sourceOf().source)(context)).toBe(0);
  expect(fake.out()).toBe('known: approved 1.27 → 1.28.1\n');
});

test('upkeep approve says of each container which version was approved, and by whom', async () => {
  const { context, fake } = createCommandScene(['approve', 'web', 'db']);
  const { source, decisions } = sourceOf();
  expect(await createDecide('approve', source)(context)).toBe(0);
  expect(fake.out()).toBe(`web: approved 1.28 (${short})\ndb: approved 1.28 (${short})\n`);
  expect(decisions).toMatchObject([
    { kind: 'approve', container: 'web', digest, by: 'command line', untilMs: undefined },
    { kind: 'approve', container: 'db' },
  ]);
});

test('upkeep snooze ends after --for, and after a week without it; a skip has no end', async () => {
  const endsAfter = async (kind: 'snooze' | 'skip', argv: readonly string[]) => {
    const { context, clock } = createCommandScene([kind, 'web', ...argv]);
    const { source, decisions } = sourceOf();
    await createDecide(kind, source)(context);
    const ends = decisions[0]?.untilMs;
    return ends === undefined ? undefined : (ends - clock.nowMs()) / 3_600_000;
  };
  expect(await endsAfter('snooze', ['--for', '3d'])).toBe(72);
  expect(await endsAfter('snooze', [])).toBe(7 * 24);
  expect(await endsAfter('skip', [])).toBeUndefined();
  expect(await endsAfter('skip', ['--for', '2h'])).toBe(2);
});

test('a decision that cannot be taken or kept fails the command, and the others are taken', async () => {
  const { context, fake } = createCommandScene(['approve', 'calm', 'web']);
  expect(await createDecide('approve', sourceOf().source)(context)).toBe(1);
  expect(fake.out()).toContain('web: approved');
  expect(fake.err()).toBe('upkeep: Cannot approve "calm": no newer version of it is known\n');

  const refused = createCommandScene(['skip', 'web']);
  const fault = { kind: 'conflict', fault: 'its newer version has changed' } as const;
  expect(await createDecide('skip', sourceOf({ fault }).source)(refused.context)).toBe(1);
  expect(refused.fake.err()).toBe('upkeep: Cannot skip "web": its newer version has changed\n');

  const lost = createCommandScene(['skip', 'web']);
  expect(await createDecide('skip', sourceOf({ isKept: false }).source)(lost.context)).toBe(1);
  expect(lost.fake.err()).toBe('upkeep: Cannot skip "web": the decision cannot be stored; the log has the reason\n');
});

test('a name that is given twice counts once', async () => {
  const { context, fake } = createCommandScene(['skip', 'web', 'web']);
  expect(await createDecide('skip', sourceOf().source)(context)).toBe(0);
  expect(fake.out()).toBe(`web: skipped 1.28 (${short})\n`);
});

test('upkeep unskip takes patterns, as the other commands do', async () => {
  const { source, decisions } = sourceOf();
  await createDecide('skip', source)(createCommandScene(['skip', 'web']).context);
  const { context, fake } = createCommandScene(['unskip', 'w.*', 'x.*', 'web']);
  expect(await createUnskip(source)(context)).toBe(1);
  expect(fake.out()).toBe(`web: withdrawn 1.28 (${short})\n`);
  expect(fake.err()).toBe('upkeep: Cannot unskip "x.*": there is no decision about it\n');
  expect(decisions).toEqual([]);
});

test('upkeep unskip takes back what was decided, once', async () => {
  const { source, decisions } = sourceOf();
  await createDecide('skip', source)(createCommandScene(['skip', 'web']).context);
  const first = createCommandScene(['unskip', 'web']);
  expect(await createUnskip(source)(first.context)).toBe(0);
  expect(first.fake.out()).toBe(`web: withdrawn 1.28 (${short})\n`);
  expect(decisions).toEqual([]);
  const second = createCommandScene(['unskip', 'web']);
  expect(await createUnskip(source)(second.context)).toBe(1);
  expect(second.fake.err()).toBe('upkeep: Cannot unskip "web": there is no decision about it\n');
});

test('upkeep unskip tells no end of a snooze: it is withdrawn for good', async () => {
  const { source } = sourceOf();
  await createDecide('snooze', source)(createCommandScene(['snooze', 'web', '--for', '2d']).context);
  const { context, fake } = createCommandScene(['unskip', 'web']);
  expect(await createUnskip(source)(context)).toBe(0);
  expect(fake.out()).toBe(`web: withdrawn 1.28 (${short})\n`);
});

test('with --json there is one document, with the errors in it', async () => {
  const { context, fake } = createCommandScene(['approve', 'web', 'calm', '--json']);
  expect(await createDecide('approve', sourceOf().source)(context)).toBe(1);
  expect(JSON.parse(fake.out())).toMatchObject({
    decisions: [{ container: 'web', decision: 'approve', digest, by: 'command line' }],
    count: 1,
    errors: ['Cannot approve "calm": no newer version of it is known'],
    api_version: 'v1',
  });
});

describe('with several engines', () => {
  const on = new Map([
    ['web', ['nas', 'pi']],
    ['db', ['pi', 'idle']],
  ]);

  test('a name on two of them is refused without --engine, and the other names are decided about', async () => {
    const { context, fake } = createCommandScene(['approve', 'web', 'db']);
    const { source, decisions } = sourceOf({ on });
    expect(await createDecide('approve', source)(context)).toBe(1);
    expect(fake.err()).toBe(
      'upkeep: Cannot approve "web": it is on several engines (nas, pi): name one with --engine\n',
    );
    expect(fake.out()).toBe(`pi/db: approved 1.28 (${short})\n`);
    expect(decisions).toMatchObject([{ container: 'db', engine: 'pi' }]);
  });

  test('--engine names the one that is meant, or both', async () => {
    const host = ['--host', 'nas=tcp://nas:1', '--host', 'pi=tcp://pi:1'];
    const one = createCommandScene(['skip', 'web', '--engine', 'pi', ...host]);
    const { source, decisions } = sourceOf({ on });
    expect(await createDecide('skip', source)(one.context)).toBe(0);
    expect(decisions).toMatchObject([{ container: 'web', engine: 'pi' }]);
    const both = createCommandScene(['skip', 'web', '--engine', 'nas,pi', ...host]);
    expect(await createDecide('skip', source)(both.context)).toBe(0);
    expect(both.fake.out()).toBe(`nas/web: skipped 1.28 (${short})\npi/web: skipped 1.28 (${short})\n`);
  });

  test('upkeep unskip takes back the one that is named, and asks which where there are two', async () => {
    const host = ['--host', 'nas=tcp://nas:1', '--host', 'pi=tcp://pi:1'];
    const { source, decisions } = sourceOf({ on });
    await createDecide('skip', source)(createCommandScene(['skip', 'web', '--engine', 'nas,pi', ...host]).context);
    const unclear = createCommandScene(['unskip', 'web']);
    expect(await createUnskip(source)(unclear.context)).toBe(1);
    expect(unclear.fake.err()).toContain('it is on several engines (nas, pi): name one with --engine');
    const named = createCommandScene(['unskip', 'web', '--engine', 'pi', ...host]);
    expect(await createUnskip(source)(named.context)).toBe(0);
    expect(decisions).toMatchObject([{ container: 'web', engine: 'nas' }]);
  });
});
