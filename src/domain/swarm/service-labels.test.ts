import { describe, expect, test } from 'vitest';
import type { SwarmService } from '../container/swarm-service.ts';
import { labelledEntries, type LabelName } from '../settings/table/service-options.ts';
import { whyHeldByLabel, labelsWithoutEffect, summaryOfService } from './service-verdict.ts';

/** Followed, without effect and told so, or a text that holds the service, with one that does not. */
const onServices: Readonly<
  Record<LabelName, 'followed' | 'told' | readonly [holds: string, free: string | undefined]>
> = {
  enable: 'followed',
  'monitor-only': 'followed',
  scope: 'followed',
  'cooldown-delay': 'followed',
  approve: 'followed',
  window: 'followed',
  verify: 'followed',
  'verify-identity': 'followed',
  'verify-annotation': 'followed',
  'depends-on': 'followed',
  'health-window': 'followed',
  'health-timeout': 'followed',
  notify: 'followed',
  'no-pull': ['true', 'false'],
  'no-restart': ['true', 'false'],
  'from-registry': ['false', 'true'],
  data: ['volumes', 'none'],
  'health-probe': ['tcp://:80', 'none'],
  'lifecycle.pre-update': ['exit 75', undefined],
  'lifecycle.pre-check': 'told',
  'lifecycle.post-check': 'told',
  'lifecycle.post-update': 'told',
  'lifecycle.pre-check-timeout': 'told',
  'lifecycle.pre-update-timeout': 'told',
  'lifecycle.post-check-timeout': 'told',
  'lifecycle.post-update-timeout': 'told',
  'lifecycle.uid': 'told',
  'lifecycle.gid': 'told',
  'stop-signal': 'told',
  'stop-timeout': 'told',
  'start-first': 'told',
  'keep-old': 'told',
  'update-auto-remove': 'told',
  'data-max-size': 'told',
  'data-timeout': 'told',
  'data-keep': 'told',
  'data-shared': 'told',
  'compose-files': 'told',
  'release-notes': 'told',
  source: 'told',
  'source-tag': 'told',
  health: 'told',
  canary: 'told',
  policy: 'told',
  'tag-include': 'told',
  'tag-exclude': 'told',
};

const prefixes = ['upkeep.', 'com.centurylinklabs.watchtower.'];
const rows = Object.entries(onServices).flatMap(([name, effect]) =>
  prefixes.map((prefix) => [prefix + name, effect] as const),
);
const restraints = rows.flatMap(([label, effect]) => (typeof effect === 'string' ? [] : [[label, ...effect] as const]));

function labelled(labels: Readonly<Record<string, string>>): SwarmService {
  return {
    id: 's',
    name: 'web',
    image: 'web:1',
    labels,
    containerLabels: {},
    createdAtMs: 0,
  } as unknown as SwarmService;
}

const why = (labels: Readonly<Record<string, string>>, lifecycleHooks = true) =>
  whyHeldByLabel(labelled(labels), { lifecycleHooks });

describe('a label on a service', () => {
  test.each(rows)(
    '%s is followed, holds the service, or causes a warning: nothing is lost in silence',
    (label, effect) => {
      const service = labelled({ [label]: 'x' });
      const isFollowed = label in summaryOfService(service).labels;
      const [isTold, isHeld] = [labelsWithoutEffect(service).length > 0, why({ [label]: 'x' }) !== undefined];
      expect({ isFollowed, isTold, isHeld }).toEqual({
        isFollowed: effect === 'followed',
        isTold: effect === 'told',
        isHeld: typeof effect !== 'string',
      });
    },
  );

  test('that restrains updates by its declaration is followed or holds the service', () => {
    const names = labelledEntries.flatMap(([, { label }]) => (label.effect === 'restrains' ? [label.name] : []));
    expect(names.length).toBeGreaterThan(0);
    // The names of the labels in the table are the type's members.
    expect(names.filter((name) => onServices[name as LabelName] === 'told')).toEqual([]);
  });

  test.each(restraints)('%s=%s holds it, with the reason', (label, holds) => {
    expect(why({ [label]: holds })).toMatch(`Its label "${label}" cannot be followed on a service: `);
    expect(why({ [label]: `${holds}x` })).toContain(label);
  });

  test.each(restraints)('%s is free without a text, and with the text that restrains nothing', (label, _, free) => {
    expect(why({ [label]: '' })).toBeUndefined();
    if (free === undefined) expect(why({ [label]: 'exit 75' }, false)).toBeUndefined();
    else expect(why({ [label]: free })).toBeUndefined();
  });

  test.each(['com.centurylinklabs.zodiac.data', 'com.centurylinklabs.no-restart', 'com.acme.upkeep.data', 'data'])(
    '%s of another tool holds nothing',
    (label) => {
      expect(why({ [label]: 'true' })).toBeUndefined();
    },
  );

  test("of the service wins over that of its tasks, and Upkeep's over the drop-in one", () => {
    const both = (labels: object, containerLabels: object) =>
      whyHeldByLabel({ ...labelled({}), labels, containerLabels } as SwarmService, { lifecycleHooks: false });
    expect(both({ 'upkeep.data': 'none' }, { 'upkeep.data': 'volumes' })).toBeUndefined();
    expect(both({}, { 'upkeep.data': '/srv' })).toContain('upkeep.data');
    expect(both({ 'upkeep.no-restart': 'no' }, { [`${prefixes[1]}no-restart`]: 'yes' })).toBeUndefined();
  });
});
