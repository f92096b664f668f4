import { describe, expect, test } from 'vitest';
import { labelledSettings, defaultSettings } from './effective-settings.ts';
import { labelTable } from './table/service-options.ts';

const hooks = { ...defaultSettings, lifecycleHooks: true };

describe('labelledSettings()', () => {
  test('names each setting that a label changes, its value and the label', () => {
    const labels = {
      'upkeep.health-window': '0.5m',
      'com.centurylinklabs.watchtower.monitor-only': 'T',
      'upkeep.health-probe': 'tcp://:80',
      'upkeep.depends-on': 'db, cache',
      'upkeep.keep-old': '2d',
      'com.centurylinklabs.zodiac.original-image': 'app:2',
    };
    expect(labelledSettings(defaultSettings, labels, { 'upkeep.keep-old': '2d' })).toEqual([
      { name: 'depends-on', value: 'db, cache', source: 'label upkeep.depends-on' },
      { name: 'monitor-only', value: 'true', source: 'label com.centurylinklabs.watchtower.monitor-only' },
      { name: 'health-window', value: '30s', source: 'label upkeep.health-window' },
      { name: 'health-probe', value: 'tcp://:80', source: 'label upkeep.health-probe' },
      { name: 'keep-old', value: '2d', source: 'image label upkeep.keep-old' },
      { name: 'original-image', value: 'app:2', source: 'label com.centurylinklabs.zodiac.original-image' },
    ]);
  });

  test.each([
    ['the same as the option', defaultSettings, { 'upkeep.health-window': '10' }],
    ['overruled by the option', { ...defaultSettings, monitorOnly: true }, { 'upkeep.monitor-only': 'false' }],
    ['not read', defaultSettings, { 'upkeep.health-window': 'soon', 'upkeep.enabel': 'false' }],
    [
      'of a hook, while hooks are off',
      defaultSettings,
      { 'upkeep.lifecycle.pre-check': 'x', 'upkeep.lifecycle.uid': '1' },
    ],
    ['the timeout of no hook', hooks, { 'upkeep.lifecycle.pre-check-timeout': '5' }],
    ['enable=true, where all containers are watched', defaultSettings, { 'upkeep.enable': 'true' }],
    ['of another tool', defaultSettings, { 'traefik.enable': 'true' }],
  ])('leaves out a label that is %s', (_, settings, labels) => {
    expect(labelledSettings(settings, labels, {})).toEqual([]);
  });

  test('shows hooks, their timeouts and their user where hooks are run', () => {
    const labels = {
      'upkeep.lifecycle.pre-check': 'x',
      'upkeep.lifecycle.pre-check-timeout': '5',
      'upkeep.lifecycle.uid': '0',
    };
    expect(labelledSettings(hooks, labels, {})).toEqual([
      { name: 'lifecycle-uid', value: '0', source: 'label upkeep.lifecycle.uid' },
      { name: 'lifecycle.pre-check', value: 'x', source: 'label upkeep.lifecycle.pre-check' },
      { name: 'lifecycle.pre-check-timeout', value: '5', source: 'label upkeep.lifecycle.pre-check-timeout' },
    ]);
  });

  test('shows hostile values short and escaped', () => {
    const labels = { 'upkeep.lifecycle.pre-check': `\u001b[2J${'x'.repeat(9000)}` };
    const [shown] = labelledSettings(hooks, labels, {});
    expect(shown?.value).toMatch(/^\\x1b\[2Jx+…$/);
    expect(shown?.value.length).toBeLessThanOrEqual(510);
  });

  test.each(labelTable)('the example of $name changes a setting', ({ name, example }) => {
    const command = /^lifecycle\.(?!uid|gid)/.test(name) ? { [`upkeep.${name.replace('-timeout', '')}`]: 'x' } : {};
    const settings = { ...hooks, labelEnable: name === 'enable' ? false : hooks.labelEnable };
    const shown = labelledSettings(settings, { ...command, [`upkeep.${name}`]: example }, {});
    expect(shown.map(({ source }) => source)).toContain(`label upkeep.${name}`);
  });
});
