import { describe, expect, test } from 'vitest';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import { type KeepContext, keepOrderOf } from './keep-old.ts';
import { longestKeepMs } from '../settings/values/label-values.ts';

const alone: KeepContext = {
  settings: { keepOldMs: 1000, removeVolumes: false },
  abilities: { changesRestartPolicies: true },
  isInGroup: false,
  isOwn: false,
  autoRemoves: false,
};
const unable = { abilities: { changesRestartPolicies: false } };
const labelled = (value: string) => inspectedContainer('web', { labels: { 'upkeep.keep-old': value } });
const always = inspectedContainer('web', { host: { RestartPolicy: { Name: 'always' } } });

describe('keepOrderOf()', () => {
  test('is what the label says, else the setting, and no longer than three months', () => {
    expect(keepOrderOf(always, alone)).toEqual({ keepMs: 1000 });
    expect(keepOrderOf(labelled('2h'), alone)).toEqual({ keepMs: 7_200_000 });
    expect(keepOrderOf(labelled('0'), { ...alone, isInGroup: true })).toEqual({ keepMs: 0 });
    expect(keepOrderOf(labelled('100w'), alone)).toEqual({ keepMs: longestKeepMs });
  });

  test.each<[Partial<KeepContext>, string]>([
    [{ isInGroup: true }, 'together with others'],
    [{ isOwn: true }, 'Upkeep itself'],
    [{ autoRemoves: true }, '--rm'],
    [{ settings: { keepOldMs: 1000, removeVolumes: true } }, '--remove-volumes'],
    [unable, 'restart policy'],
  ])('is nothing where it could not come back, or could come up: %j', (more, reason) => {
    expect(keepOrderOf(always, { ...alone, ...more })).toEqual({ keepMs: 0, reason: expect.stringContaining(reason) });
  });

  test('minds no restart policy that starts nothing', () => {
    expect(keepOrderOf(inspectedContainer('web'), { ...alone, ...unable })).toEqual({ keepMs: 1000 });
  });
});
