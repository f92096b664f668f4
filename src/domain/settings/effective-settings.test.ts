import { describe, expect, test } from 'vitest';
import { readLabels, defaultSettings, effectiveSettings } from './effective-settings.ts';

const { labelSettings: silent } = readLabels({}, {});

describe('effectiveSettings()', () => {
  test.each([
    { label: undefined, setting: false, precedence: false, expected: false },
    { label: undefined, setting: true, precedence: true, expected: true },
    { label: true, setting: false, precedence: false, expected: true },
    { label: false, setting: true, precedence: false, expected: true },
    { label: false, setting: true, precedence: true, expected: false },
    { label: true, setting: false, precedence: true, expected: true },
  ])('label $label, setting $setting, label precedence $precedence: $expected', (row) => {
    const labelSettings = { ...silent, monitorOnly: row.label, noPull: row.label };
    const settings = {
      ...defaultSettings,
      monitorOnly: row.setting,
      noPull: row.setting,
      labelTakesPrecedence: row.precedence,
    };
    expect(effectiveSettings(settings, labelSettings)).toMatchObject({
      monitorOnly: row.expected,
      noPull: row.expected,
    });
  });

  test('the cooldown of the label counts where there is one, 0 included', () => {
    const settings = { ...defaultSettings, cooldownMs: 5000 };
    expect(effectiveSettings(settings, silent).cooldownMs).toBe(5000);
    expect(effectiveSettings(settings, { ...silent, cooldownMs: 0 }).cooldownMs).toBe(0);
    expect(effectiveSettings(settings, { ...silent, cooldownMs: 9000 }).cooldownMs).toBe(9000);
  });

  test('the label data-max-size lowers the option, and cannot raise it', () => {
    const settings = { ...defaultSettings, dataMaxBytes: 5000 };
    expect(effectiveSettings(settings, { ...silent, dataMaxBytes: 400 }).dataMaxBytes).toBe(400);
    expect(effectiveSettings(settings, { ...silent, dataMaxBytes: 9000 }).dataMaxBytes).toBe(5000);
    expect(
      effectiveSettings({ ...settings, labelTakesPrecedence: true }, { ...silent, dataMaxBytes: 9000 }),
    ).toHaveProperty('dataMaxBytes', 5000);
  });
});
