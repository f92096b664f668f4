import type { EngineEvent } from './outside/engine.ts';
import { describe, expect, test } from 'vitest';
import { inspectedContainer, runningState } from '../../test/support/scene/builders.ts';
import type { Container } from './container/container.ts';
import { exitOf } from './processes.ts';

const happened = (action: string, attributes: Readonly<Record<string, string>> = {}, timeMs = 5000): EngineEvent => ({
  kind: 'container',
  action,
  id: 'it',
  attributes,
  timeMs,
});
const died = (exitCode: string, timeMs = 5000) => happened('die', { exitCode }, timeMs);
const container = (state: Partial<Container['state']>) =>
  inspectedContainer('web', { state: { ...runningState, ...state } });
const exited = { status: 'exited', exitCode: 3, startedAt: '2026-01-02T03:04:05.5Z' } as const;

describe('endOf()', () => {
  test('tells nothing of what runs, or has never run', () => {
    expect(exitOf('it', container({}), [])).toBeUndefined();
    expect(exitOf('it', container({ status: 'created', startedAt: '' }), [])).toBeUndefined();
    expect(exitOf('it', undefined, [])).toBeUndefined();
  });

  test('takes an inspection at its word, to the nanosecond', () => {
    const at = (finishedAt: string) => exitOf('it', container({ ...exited, finishedAt }), [died('9', 1)])?.atMs ?? 0;
    expect(exitOf('it', container({ ...exited, finishedAt: '2026-01-02T03:04:06Z' }), [])).toMatchObject({
      atMs: Date.parse('2026-01-02T03:04:06Z'),
      exitCode: 3,
      wasRequested: false,
    });
    expect(at('2026-01-02T03:04:06.000100Z')).toBeLessThan(at('2026-01-02T03:04:06.000101Z'));
    expect(at('2026-01-02T03:04:06.000000900Z')).toBeLessThan(at('2026-01-02T03:04:06.0001Z'));
    expect(at('2026-01-02T05:04:06.25+02:00')).toBe(Date.parse('2026-01-02T03:04:06.250Z'));
  });

  test('knows of what is gone by its events: the first end, with its code', () => {
    const events = [happened('start'), died('42'), happened('destroy'), died('1', 9000)];
    expect(exitOf('it', undefined, events)).toMatchObject({ atMs: 5000, exitCode: 42, wasRequested: false });
    expect(exitOf('other', undefined, events)).toBeUndefined();
    expect(exitOf('it', undefined, [happened('die', { containerExitCode: '7' })])?.exitCode).toBe(7);
    expect(exitOf('it', undefined, [happened('die')])?.exitCode).toBeUndefined();
    expect(exitOf('it', undefined, [happened('oom'), died('137')])).toMatchObject({
      outOfMemory: true,
      wasRequested: false,
    });
  });

  test('knows of a restart that hides the end', () => {
    const restarted = { ...container({}), restartCount: 1 };
    expect(exitOf('it', restarted, [died('3')])).toMatchObject({ atMs: 5000, exitCode: 3 });
  });

  test.each([
    ['a kill', [happened('kill', { signal: '9' }), died('137')], true],
    ['a stop', [happened('kill', { signal: '15' }), died('0'), happened('stop')], true],
    ['a stop with a signal of its own', [happened('kill', { signal: '28' }), died('0'), happened('stop')], true],
    ['a kill by an engine that does not tell the signal', [happened('kill'), died('0')], true],
    ['a signal to reload, some time before', [happened('kill', { signal: '1' }), died('3')], false],
    ['a kill of its remains', [died('3'), happened('kill', { signal: '9' })], false],
  ] as const)('tells whether someone asked for it: %s', (_what, events, wasRequested) => {
    expect(exitOf('it', undefined, events)?.wasRequested).toBe(wasRequested);
    expect(exitOf('it', container(exited), events)?.wasRequested).toBe(wasRequested);
  });
});
