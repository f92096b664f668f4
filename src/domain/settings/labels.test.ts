import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import type { Labels } from '../image/labels.ts';
import { labelNames } from './table/service-options.ts';
import { labelsInEffect, type LabelValues, readLabels as readLabelsOf, labelValuesOf } from './effective-settings.ts';

/** By default, the image has no labels. */
const readLabels = (labels: Labels, imageLabels: Labels | undefined = {}) => readLabelsOf(labels, imageLabels);

const nothing: LabelValues = {
  enable: undefined,
  monitorOnly: undefined,
  noPull: undefined,
  noRestart: undefined,
  updateAutoRemove: undefined,
  startFirst: undefined,
  keepOldMs: undefined,
  data: undefined,
  dataShared: undefined,
  dataMaxBytes: undefined,
  dataTimeoutMs: undefined,
  dataKeepMs: undefined,
  dependsOn: undefined,
  scope: undefined,
  stopSignal: undefined,
  health: undefined,
  canary: undefined,
  fromRegistry: undefined,
  composeFiles: undefined,
  stopTimeoutMs: undefined,
  approve: undefined,
  releaseNotes: undefined,
  source: undefined,
  sourceTag: undefined,
  window: undefined,
  cooldownMs: undefined,
  tagPolicy: undefined,
  tagInclude: undefined,
  tagExclude: undefined,
  verifyWith: undefined,
  verifyIdentities: undefined,
  verifyAnnotations: undefined,
  healthWindowMs: undefined,
  healthTimeoutMs: undefined,
  healthProbe: undefined,
  notify: undefined,
  hooks: { preCheck: undefined, preUpdate: undefined, postUpdate: undefined, postCheck: undefined },
  lifecycleUserId: undefined,
  lifecycleGroupId: undefined,
  originalImage: undefined,
  faults: [],
};

const dropIn = 'com.centurylinklabs.watchtower';

describe('readLabels()', () => {
  test('asks for nothing, when there are none of ours', () => {
    expect(readLabels({})).toEqual({ labelSettings: nothing, warnings: [] });
    expect(readLabels({ 'com.docker.compose.service': 'web', 'traefik.enable': 'true' })).toEqual({
      labelSettings: nothing,
      warnings: [],
    });
  });

  test.each(['upkeep', dropIn])('reads every label under %s', (prefix) => {
    const { labelSettings, warnings } = readLabels({
      [`${prefix}.enable`]: 'true',
      [`${prefix}.monitor-only`]: 'false',
      [`${prefix}.no-pull`]: '1',
      [`${prefix}.no-restart`]: 'true',
      [`${prefix}.update-auto-remove`]: 'true',
      [`${prefix}.start-first`]: 'false',
      [`${prefix}.depends-on`]: '/db, cache,,db',
      [`${prefix}.scope`]: 'blue',
      [`${prefix}.stop-signal`]: 'sigint',
      [`${prefix}.stop-timeout`]: '90',
      [`${prefix}.cooldown-delay`]: '1M',
      [`${prefix}.health-window`]: '20s',
      [`${prefix}.health-timeout`]: '5m',
      [`${prefix}.lifecycle.pre-check`]: 'true',
      [`${prefix}.lifecycle.pre-update`]: '/backup.sh "all of it"',
      [`${prefix}.lifecycle.post-update`]: 'a\nb',
      [`${prefix}.lifecycle.post-check`]: 'exit 0',
      [`${prefix}.lifecycle.pre-update-timeout`]: '5',
      [`${prefix}.lifecycle.post-update-timeout`]: '0',
      [`${prefix}.lifecycle.post-check-timeout`]: '30s',
      [`${prefix}.lifecycle.uid`]: '1000',
      [`${prefix}.lifecycle.gid`]: '100',
    });
    expect(warnings).toEqual([]);
    expect(labelSettings).toEqual({
      ...nothing,
      enable: true,
      monitorOnly: false,
      noPull: true,
      noRestart: true,
      updateAutoRemove: true,
      startFirst: false,
      dependsOn: ['db', 'cache'],
      scope: 'blue',
      stopSignal: 'SIGINT',
      stopTimeoutMs: 90_000,
      cooldownMs: 2_592_000_000,
      healthWindowMs: 20_000,
      healthTimeoutMs: 300_000,
      hooks: {
        preCheck: { command: 'true', timeoutMs: undefined },
        preUpdate: { command: '/backup.sh "all of it"', timeoutMs: 300_000 },
        postUpdate: { command: 'a\nb', timeoutMs: 0 },
        postCheck: { command: 'exit 0', timeoutMs: 30_000 },
      },
      lifecycleUserId: 1000,
      lifecycleGroupId: 100,
    });
  });

  test('reads the labels of the family that stand outside the prefixes', () => {
    const { labelSettings, warnings } = readLabels({
      [dropIn]: 'true',
      'com.centurylinklabs.zodiac.original-image': ' nginx:1.27 ',
    });
    expect(labelSettings).toEqual({ ...nothing, originalImage: 'nginx:1.27' });
    expect(warnings).toEqual([]);
  });

  test('prefers the own label to the drop-in one', () => {
    expect(readLabels({ 'upkeep.enable': 'false', [`${dropIn}.enable`]: 'true' }).labelSettings.enable).toBe(false);
    expect(readLabels({ [`${dropIn}.enable`]: 'false', 'upkeep.enable': 'true' }).labelSettings.enable).toBe(true);
  });

  test('falls back on the drop-in label, when the own one cannot be read', () => {
    const { labelSettings, warnings } = readLabels({
      'upkeep.stop-signal': 'nope',
      [`${dropIn}.stop-signal`]: 'SIGINT',
    });
    expect(labelSettings.stopSignal).toBe('SIGINT');
    expect(warnings).toEqual([
      'Label "upkeep.stop-signal" is ignored: "nope" is not a signal such as SIGTERM, SIGRTMIN+3 or 15',
    ]);
  });

  test.each([
    ['enable', ''],
    ['canary', 'first'],
    ['from-registry', 'docker.io'],
    ['depends-on', 'a b'],
    ['depends-on', '-db'],
    ['depends-on', Array.from({ length: 101 }, (_, n) => `c${n}`).join(',')],
    ['stop-signal', 'SIGNOPE'],
    ['stop-signal', '65'],
    ['stop-signal', '0'],
    ['stop-signal', 'SIGRTMIN+16'],
    ['stop-signal', ''],
    ['stop-timeout', '-5'],
    ['stop-timeout', '1M'],
    ['health-timeout', '5 minutes'],
    ['lifecycle.pre-update', ''],
    ['lifecycle.pre-update', 'a\0b'],
    ['lifecycle.pre-update-timeout', 'x'],
    ['lifecycle.uid', 'root'],
    ['lifecycle.uid', '-1'],
    ['lifecycle.gid', '2147483648'],
  ])('counts %s=%j as not given, and warns', (name, value) => {
    const { labelSettings, warnings } = readLabels({ [`upkeep.${name}`]: value });
    expect(labelSettings).toEqual(nothing);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(new RegExp(`^Label "upkeep\\.${name}" is ignored: ".*" is not .+$`));
    expect(warnings[0]?.length).toBeLessThan(300);
  });

  test.each([
    ['enable', '"false"', false],
    ['enable', "'no'", false],
    ['enable', 'OFF', false],
    ['enable', 'disabled', false],
    ['enable', '"true', false],
    ['enable', 'on', true],
    ['monitor-only', '"true"', true],
    ['monitor-only', 'Yes', true],
    ['monitor-only', 'absolutely', true],
    ['monitor-only', '""', false],
    ['no-pull', "'on'", true],
    ['no-pull', 'n', false],
  ])('takes %s=%s for %j', (name, value, expected) => {
    const { labelSettings } = readLabels({ [`upkeep.${name}`]: value });
    expect(
      [labelSettings.enable, labelSettings.monitorOnly, labelSettings.noPull].filter((each) => each !== undefined),
    ).toEqual([expected]);
    const { labelSettings: dropInSettings } = readLabels({ [`${dropIn}.${name}`]: value });
    expect(dropInSettings).toEqual(labelSettings);
  });

  test.each(['soon', '"3 days"', '3dd', '-1h'])('holds updates back with the cooldown %j', (value) => {
    const { labelSettings, warnings } = readLabels({ 'upkeep.cooldown-delay': value });
    expect(labelSettings.cooldownMs).toBeUndefined();
    expect(labelSettings.faults).toEqual([
      expect.stringMatching(/^Cannot read the label cooldown-delay with ".+": it is not/),
    ]);
    expect(warnings).toHaveLength(1);
    const inherited = readLabels({ 'upkeep.cooldown-delay': value }, { 'upkeep.cooldown-delay': value });
    expect(inherited.labelSettings).toEqual(nothing);
  });

  test.each(['enabled', '`true`', 'yes please'])('holds updates back with no-restart %j', (value) => {
    const { labelSettings, warnings } = readLabels({ 'upkeep.no-restart': value });
    expect(labelSettings.noRestart).toBeUndefined();
    expect(labelSettings.faults).toEqual([
      expect.stringMatching(/^Cannot read the label no-restart with ".+": it is not/),
    ]);
    expect(warnings).toHaveLength(1);
  });

  test.each([
    ['9', '9'],
    ['KILL', 'SIGKILL'],
    ['SIGQUIT', 'SIGQUIT'],
    ['sigrtmin+3', 'SIGRTMIN+3'],
    ['RTMAX-1', 'SIGRTMAX-1'],
  ])('reads the signal %s as %s', (value, expected) => {
    expect(readLabels({ 'upkeep.stop-signal': value }).labelSettings.stopSignal).toBe(expected);
  });

  test('takes an empty monitor-only or no-pull for false, an empty depends-on for "depends on nothing"', () => {
    const { labelSettings, warnings } = readLabels({
      'upkeep.monitor-only': '',
      'upkeep.no-pull': ' ',
      'upkeep.depends-on': '',
    });
    expect(labelSettings).toEqual({ ...nothing, monitorOnly: false, noPull: false, dependsOn: [] });
    expect(warnings).toEqual([]);
  });

  test('takes the scope "none" for unscoped, also against a drop-in scope', () => {
    expect(readLabels({ 'upkeep.scope': 'none', [`${dropIn}.scope`]: 'blue' }).labelSettings.scope).toBeUndefined();
    expect(readLabels({ 'upkeep.scope': '' }).warnings).toEqual([]);
  });

  test('takes 0 for root in an own label, for nothing in a drop-in one', () => {
    expect(readLabels({ 'upkeep.lifecycle.uid': '0' }).labelSettings.lifecycleUserId).toBe(0);
    expect(readLabels({ [`${dropIn}.lifecycle.uid`]: '0' })).toEqual({ labelSettings: nothing, warnings: [] });
  });

  test('keeps a hook out, when only its timeout is given', () => {
    expect(readLabels({ 'upkeep.lifecycle.pre-update-timeout': '5' })).toEqual({
      labelSettings: nothing,
      warnings: [],
    });
  });

  test('warns about a mistyped name, and keeps silent about the journal', () => {
    expect(readLabels({ 'upkeep.enabel': 'false', 'upkeep.tx.id': 'x', 'upkeep.tx.later': 'x' }).warnings).toEqual([
      'Label "upkeep.enabel" is not known; did you mean "upkeep.enable"?',
    ]);
  });

  test('shows no login and no query of a probe that it refuses', () => {
    const { warnings } = readLabels({ 'upkeep.health-probe': 'http://me:hunter2@web/?token=hunter2' });
    expect(warnings).toEqual([expect.stringContaining('is ignored: "http://***@web/?***" is not one of')]);
  });

  test('shows hostile names and values short and escaped', () => {
    const { warnings } = readLabels({ 'upkeep.enable': `\u001b[2J"${'x'.repeat(2 ** 14)}`, ['upkeep.\n\u202e']: 'x' });
    expect(warnings[0]).toMatch(/^Label "upkeep\.enable" counts as false: "\\x1b\[2J\\"x+…" is not one of/);
    expect(warnings[1]).toBe(String.raw`Label "upkeep.\n\u202e" is not known`);
  });

  test('warns twenty times at most, however many labels are wrong', () => {
    const { warnings } = readLabels(
      Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`upkeep.colour-${n}`, 'x'])),
    );
    expect(warnings).toHaveLength(20);
    expect(warnings.at(-1)).toBe('Further labels are ignored or not known');
  });

  test('does not take what an object inherits for a label', () => {
    const labels: Record<string, string> = Object.create({ 'upkeep.enable': 'true' });
    expect(readLabels(labels)).toEqual({ labelSettings: nothing, warnings: [] });
  });

  test('never throws and never says anything unsafe', () => {
    const key = fc.oneof(
      fc.constantFrom(...labelNames).map((name) => `upkeep.${name}`),
      anyText().map((text) => `upkeep.${text}`),
    );
    const value = fc.oneof(anyText(), fc.constantFrom('true', '', '0', '1h', 'a,b', 'SIGTERM'));
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.boolean(), (labels, areImages) => {
        for (const warning of readLabelsOf(labels, areImages ? labels : undefined).warnings) {
          expect(warning).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
          expect(warning.length).toBeLessThan(1500);
        }
      }),
    );
  });
});

describe('readLabels() of what a container has from its image', () => {
  const everything = {
    'upkeep.enable': 'true',
    'upkeep.monitor-only': 'true',
    'upkeep.no-pull': 'true',
    'upkeep.no-restart': 'true',
    'upkeep.update-auto-remove': 'true',
    'upkeep.start-first': 'true',
    'upkeep.keep-old': '1d',
    'upkeep.data': 'volumes',
    'upkeep.data-shared': 'true',
    'upkeep.data-max-size': '1MB',
    'upkeep.data-timeout': '1m',
    'upkeep.data-keep': '1d',
    'upkeep.depends-on': 'db',
    'upkeep.scope': 'blue',
    'upkeep.stop-signal': 'INT',
    'upkeep.stop-timeout': '1m',
    'upkeep.cooldown-delay': '1h',
    'upkeep.health-window': '1m',
    'upkeep.health-timeout': '2m',
    'upkeep.health-probe': 'exec:id',
    'upkeep.lifecycle.pre-update': 'dump',
    'upkeep.lifecycle.pre-update-timeout': '2',
    'upkeep.lifecycle.uid': '0',
    'upkeep.lifecycle.gid': '0',
    'com.centurylinklabs.zodiac.original-image': 'registry.example/app:1',
    'upkeep.tx.v': '1',
    'upkeep.tx.id': 'forged',
  };
  const heeded: LabelValues = {
    ...nothing,
    enable: true,
    monitorOnly: true,
    noPull: true,
    keepOldMs: 86_400_000,
    stopSignal: 'SIGINT',
    stopTimeoutMs: 60_000,
    cooldownMs: 3_600_000,
    healthWindowMs: 60_000,
    healthTimeoutMs: 120_000,
    hooks: { ...nothing.hooks, preUpdate: { command: 'dump', timeoutMs: 120_000, isFromImage: true } },
  };

  test('hears what disposes of the image’s own container only, and names the rest in one line', () => {
    const { labelSettings, warnings } = readLabels(everything, everything);
    expect(labelSettings).toEqual(heeded);
    expect(warnings).toHaveLength(1);
    for (const name of ['no-restart', 'depends-on', 'scope', 'health-probe', 'lifecycle.uid', 'lifecycle.gid', 'tx.*'])
      expect(warnings[0]).toContain(`"upkeep.${name}"`);
    expect(warnings[0]).toContain('"com.centurylinklabs.zodiac.original-image"');
    expect(labelsInEffect(everything, everything)).not.toHaveProperty(['upkeep.lifecycle.uid']);
  });

  test('hears all of it from the container itself', () => {
    const { labelSettings, warnings } = readLabels(everything, {
      ...everything,
      ...mapValues(everything, () => 'other'),
    });
    expect(warnings).toEqual([]);
    expect(labelSettings).toMatchObject({
      scope: 'blue',
      lifecycleUserId: 0,
      dependsOn: ['db'],
      originalImage: expect.any(String),
    });
    expect(labelSettings.hooks.preUpdate).toEqual({ command: 'dump', timeoutMs: 120_000 });
  });

  test('takes everything for the image’s where that is not known, but for a scope, which keeps others away', () => {
    const { labelSettings, warnings } = readLabelsOf(everything, undefined);
    expect(labelSettings).toEqual({ ...heeded, scope: 'blue' });
    expect(warnings).toEqual([expect.stringContaining('gone from the engine')]);
    expect(labelValuesOf({ settings: settingsWith(everything) })).toEqual(labelSettings);
  });

  test.each([
    [{ 'upkeep.enable': 'true' }, { [`${dropIn}.enable`]: 'false' }, false],
    [{ [`${dropIn}.enable`]: 'true' }, { 'upkeep.enable': 'false' }, false],
  ])('the container’s own word wins over the image’s, in whichever spelling: %j, %j', (image, own, expected) => {
    expect(readLabels({ ...image, ...own }, image).labelSettings.enable).toBe(expected);
  });
});

describe('readLabels() of a duration that is too long', () => {
  test.each([
    ['stop-timeout', '3650d', 'stopTimeoutMs', 3_600_000],
    ['health-window', '61m', 'healthWindowMs', 3_600_000],
    ['health-timeout', '9'.repeat(60), 'healthTimeoutMs', 3_600_000],
    ['cooldown-delay', '366d', 'cooldownMs', 365 * 86_400_000],
    ['keep-old', '100w', 'keepOldMs', 90 * 86_400_000],
    ['data-keep', '91d', 'dataKeepMs', 90 * 86_400_000],
    ['data-timeout', '2h', 'dataTimeoutMs', 3_600_000],
  ] as const)('takes %s=%s for the longest there is, and says so', (name, text, field, expected) => {
    const { labelSettings, warnings } = readLabels({ [`upkeep.${name}`]: text });
    expect(labelSettings[field]).toBe(expected);
    expect(warnings).toEqual([expect.stringContaining(`Label "upkeep.${name}" is limited to `)]);
  });

  test('also for the time that a hook may take', () => {
    const labels = { 'upkeep.lifecycle.post-check': 'x', 'upkeep.lifecycle.post-check-timeout': '90' };
    const { labelSettings, warnings } = readLabels(labels);
    expect(labelSettings.hooks.postCheck).toEqual({ command: 'x', timeoutMs: 3_600_000 });
    expect(warnings).toEqual([expect.stringContaining('"upkeep.lifecycle.post-check-timeout" is limited to 1h')]);
  });

  test.each(['stop-timeout', 'health-window', 'health-timeout'])('takes %s of an hour as it is', (name) => {
    expect(readLabels({ [`upkeep.${name}`]: '1h' }).warnings).toEqual([]);
  });
});

function mapValues(labels: Labels, change: (value: string) => string): Labels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, change(value)]));
}

function settingsWith(labels: Labels) {
  return { Config: { Image: 'app:1', Labels: labels }, HostConfig: {}, Mounts: [], Networks: {} };
}

describe('labelsInEffect()', () => {
  test('tells the labels that are heard, verbatim, and not those that another one wins over', () => {
    expect(
      labelsInEffect(
        {
          'upkeep.enable': ' True ',
          [`${dropIn}.enable`]: 'false',
          [`${dropIn}.scope`]: 'blue',
          'upkeep.stop-timeout': 'soon',
          [`${dropIn}.stop-timeout`]: '10s',
          'upkeep.enabel': 'true',
          'com.centurylinklabs.zodiac.original-image': 'app:1',
          'traefik.enable': 'true',
        },
        {},
      ),
    ).toEqual({
      'upkeep.enable': ' True ',
      [`${dropIn}.scope`]: 'blue',
      [`${dropIn}.stop-timeout`]: '10s',
      'com.centurylinklabs.zodiac.original-image': 'app:1',
    });
  });
});
