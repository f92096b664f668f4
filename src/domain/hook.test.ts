import type { ContainerCommand } from './outside/engine.ts';
import { describe, expect, test } from 'vitest';
import { inspectedContainer } from '../../test/support/scene/builders.ts';
import { hookCommand, judgeHook, outputLines } from './processes.ts';
import { defaultSettings } from './settings/effective-settings.ts';

const on = { ...defaultSettings, lifecycleHooks: true };
const withLabels = (labels: Readonly<Record<string, string>>, config = {}) =>
  inspectedContainer('web', { labels, config: { ...config, Labels: labels } });

describe('hookCommand()', () => {
  const hooked = withLabels({ 'com.centurylinklabs.watchtower.lifecycle.pre-update': '/backup.sh --all' });

  test('is what the label says, for a shell', () => {
    expect(hookCommand(hooked, 'preUpdate', on)?.command).toEqual(['sh', '-c', '/backup.sh --all']);
  });

  test('is nothing where no label names it, or hooks are not wanted', () => {
    expect(hookCommand(hooked, 'postUpdate', on)).toBeUndefined();
    expect(hookCommand(hooked, 'preUpdate', defaultSettings)).toBeUndefined();
  });

  test.each([
    [{}, {}, '', undefined],
    [{}, {}, '1000', undefined],
    [{ uid: '0' }, {}, '1000', '0'],
    [{ uid: '5', gid: '6' }, {}, '', '5:6'],
    [{}, { lifecycleUserId: 0 }, '1000', '0'],
    [{}, { lifecycleUserId: 1, lifecycleGroupId: 2 }, '', '1:2'],
    [{ uid: '7' }, { lifecycleUserId: 1, lifecycleGroupId: 2 }, '', '7:2'],
    [{ gid: '0' }, { lifecycleGroupId: 2 }, '', '0:0'],
    [{ gid: '6' }, {}, 'app:staff', 'app:6'],
  ])('labels %j, settings %j, container as %j: runs as %j', (labels, settings, user, expected) => {
    const named = Object.entries(labels).map(([name, value]) => [`upkeep.lifecycle.${name}`, value]);
    const container = withLabels(
      { 'upkeep.lifecycle.pre-check': 'true', ...Object.fromEntries(named) },
      { User: user },
    );
    expect(hookCommand(container, 'preCheck', { ...on, ...settings })?.user).toBe(expected);
  });

  test('a command that comes from the image runs as the container’s own user, whoever else is named', () => {
    const image = { 'upkeep.lifecycle.pre-check': 'id > /tmp/who' };
    const labels = { ...image, 'upkeep.lifecycle.uid': '0', 'upkeep.lifecycle.post-check': 'id' };
    const container = inspectedContainer('web', { labels, imageLabels: image, config: { User: 'app' } });
    const settings = { ...on, lifecycleUserId: 0, lifecycleGroupId: 0 };
    expect(hookCommand(container, 'preCheck', settings)).toMatchObject({
      command: ['sh', '-c', 'id > /tmp/who'],
      user: undefined,
    });
    expect(hookCommand(container, 'postCheck', settings)?.user).toBe('0:0');
  });

  test("a drop-in label's 0 is no user, as with Watchtower", () => {
    const labels = { 'upkeep.lifecycle.pre-check': 'true', 'com.centurylinklabs.watchtower.lifecycle.uid': '0' };
    expect(hookCommand(withLabels(labels), 'preCheck', on)?.user).toBeUndefined();
  });

  test.each([
    [undefined, 60_000],
    ['3', 180_000],
    ['90s', 90_000],
    ['0', 3_600_000],
    ['9000', 3_600_000],
  ])('with the timeout %j is waited for %i ms', (timeout, expected) => {
    const more = timeout === undefined ? {} : { 'upkeep.lifecycle.post-check-timeout': timeout };
    const container = withLabels({ 'upkeep.lifecycle.post-check': 'true', ...more });
    expect(hookCommand(container, 'postCheck', on)?.timeoutMs).toBe(expected);
  });

  describe('tells the command of its container', () => {
    const described = (labels: Readonly<Record<string, string>>, config = {}) => {
      const [variable = ''] = hookCommand(withLabels(labels, config), 'preCheck', on)?.environment ?? [];
      expect(variable).toMatch(/^WT_CONTAINER=/);
      return JSON.parse(variable.replace('WT_CONTAINER=', ''));
    };
    const label = { 'upkeep.lifecycle.pre-check': 'true' };

    test('name, id, image, stop signal and the labels that are heard; nothing of its environment', () => {
      const labels = { ...label, 'my.secret': 'hunter2', 'upkeep.tx.id': '1' };
      const { id } = withLabels({});
      expect(described(labels, { Env: ['PASSWORD=hunter2'], StopSignal: 'SIGQUIT' })).toEqual({
        name: 'web',
        id,
        image_name: 'web:1',
        stop_signal: 'SIGQUIT',
        labels: label,
      });
    });

    test('the stop signal of a label wins; without any it is SIGTERM', () => {
      expect(described({ ...label, 'upkeep.stop-signal': 'INT' }, { StopSignal: 'SIGQUIT' }).stop_signal).toBe(
        'SIGINT',
      );
      expect(described(label).stop_signal).toBe('SIGTERM');
    });

    test('leaves labels out that would be too long for an environment', () => {
      expect(described({ ...label, 'upkeep.lifecycle.post-check': 'x'.repeat(32_000) }).labels).not.toEqual({});
      const long = 'x'.repeat(32_000);
      expect(
        described({ ...label, 'upkeep.lifecycle.post-check': long, 'upkeep.lifecycle.post-update': long }).labels,
      ).toEqual({});
    });
  });
});

describe('judgeHook()', () => {
  const command: ContainerCommand = { command: [], environment: [], user: undefined, timeoutMs: 90_000 };
  const ended = (exitCode: number) => judgeHook({ kind: 'ended', exitCode, output: '' }, command);

  test('passes 0, defers for 75, fails for all else', () => {
    expect(ended(0)).toEqual({ kind: 'passed' });
    expect(ended(75)).toEqual({ kind: 'deferred', reason: 'asks to wait (exit code 75)' });
    expect(ended(1)).toEqual({ kind: 'failed', reason: 'ended with code 1' });
    expect(ended(-1)).toEqual({ kind: 'failed', reason: 'ended with code -1' });
  });

  test.each([126, 127])('says what code %i means', (code) => {
    expect(ended(code)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('the shell "sh"') });
  });

  test('fails what did not end, was refused, or cannot be told', () => {
    expect(judgeHook({ kind: 'timed-out', output: '' }, command)).toEqual({
      kind: 'failed',
      reason: 'did not end within 1m30s; it cannot be stopped and may still run',
    });
    expect(judgeHook({ kind: 'refused', status: 409, message: 'is paused' }, command)).toEqual({
      kind: 'failed',
      reason: 'could not be run: is paused',
    });
    expect(judgeHook({ kind: 'refused', status: 403, message: '<html>' }, command)).toEqual({
      kind: 'failed',
      reason: 'could not be run: the engine, or a proxy in front of it, forbids commands in containers',
    });
    expect(judgeHook({ kind: 'unknown', message: 'lost' }, command)).toEqual({
      kind: 'failed',
      reason: 'may or may not have been run: lost',
    });
  });
});

describe('outputLines()', () => {
  test('cuts at every kind of line end, and leaves blank lines out', () => {
    expect(outputLines('one\n\n two\r\nthree\rfour\n  \n')).toEqual(['one', ' two', 'three', 'four']);
    expect(outputLines('')).toEqual([]);
  });

  test('makes control characters visible and lines short', () => {
    const [escape = '', long = ''] = outputLines(`\u001b[2Jgone\u202e\n${'x'.repeat(5000)}`);
    expect(escape).toBe(String.raw`\x1b[2Jgone\u202e`);
    expect(long).toHaveLength(1000);
  });

  test('keeps the last 200 lines, and says so', () => {
    const lines = outputLines(Array.from({ length: 500 }, (_, index) => `line ${index}`).join('\n'));
    expect(lines).toHaveLength(201);
    // The engine's adapter has dropped the beginning of a long output, so nobody knows the count.
    expect(lines[0]).toBe('(earlier lines are omitted)');
    expect(lines.at(-1)).toBe('line 499');
  });
});
