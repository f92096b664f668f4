import { expect, test } from 'vitest';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { stopAndHealthPolicyOf } from './health.ts';

const settings = { ...defaultSettings, stopTimeoutMs: 20_000 };

test.each<readonly [labels: Readonly<Record<string, string>>, own: number | undefined, expected: number]>([
  [{}, undefined, 20],
  [{}, 45, 45],
  [{}, -1, 600],
  [{}, 315_360_000, 3600],
  [{ 'upkeep.stop-timeout': '90s' }, 45, 90],
  [{ 'upkeep.stop-timeout': '3650d' }, undefined, 3600],
])(
  'stopAndHealthPolicyOf() with labels %j and a StopTimeout of %j: a stop takes %i s at most',
  (labels, StopTimeout, expected) => {
    const config = { Labels: labels, ...(StopTimeout !== undefined && { StopTimeout }) };
    expect(stopAndHealthPolicyOf(inspectedContainer('web', { config }), settings).stop.timeoutSeconds).toBe(expected);
  },
);

test('stopAndHealthPolicyOf() takes the time and the signal of an image for its container, and not its probe', () => {
  const labels = { 'upkeep.stop-signal': 'QUIT', 'upkeep.health-timeout': '30s', 'upkeep.health-probe': 'exec:true' };
  const stopAndHealth = stopAndHealthPolicyOf(inspectedContainer('web', { labels, imageLabels: labels }), settings);
  expect(stopAndHealth).toMatchObject({
    stop: { signal: 'SIGQUIT' },
    healthTimeoutMs: 30_000,
    healthProbe: { kind: 'none' },
  });
});
