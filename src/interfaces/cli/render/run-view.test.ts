import { describe, expect, test } from 'vitest';
import { containerOutcome } from '../../../../test/support/scene/fake-application.ts';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import { createRunView } from './live-table.ts';

const runId = 'run-1';

describe('createRunView()', () => {
  test('follows a container from waiting to updated', async () => {
    const clock = createFakeClock();
    const view = createRunView(clock);
    const hear = (event: ServiceEvent) => {
      view.onEvent(event);
      return view.rows()[0]?.cells.map(({ text }) => text);
    };
    const container = 'web';
    const outcome = containerOutcome('web', { image: 'nginx:1.27', outcome: 'updated' });
    const progress = { layersDone: 1, layers: 3, bytes: 4_500_000, totalBytes: 9_000_000 };
    expect(hear({ kind: 'containers_selected', runId, names: ['web'] })).toEqual([
      'web',
      'waits for its turn',
      '',
      '',
      '',
      '',
    ]);
    expect(
      hear({ kind: 'container_checked', runId, container, image: 'nginx:1.27', status: 'stale', reason: 'Newer' }),
    ).toEqual(['web', 'update ready', '', '', 'nginx:1.27', '']);
    expect(hear({ kind: 'update_started', runId, container, image: 'nginx:1.27', from: '', to: '', atMs: 0 })).toEqual([
      'web',
      'creating',
      '',
      '',
      'nginx:1.27',
      '',
    ]);
    expect(hear({ kind: 'pull_progress', runId, container, progress })?.[1]).toBe('pulling 50% of 9.0 MB');
    expect(hear({ kind: 'pull_progress', runId, container, progress: { ...progress, totalBytes: 0 } })?.[1]).toBe(
      'pulling 1/3 layers',
    );
    expect(hear({ kind: 'phase_entered', runId, container, phase: 'checking health' })?.[1]).toBe('checking health');
    await clock.advance(7400);
    expect(hear({ kind: 'phase_entered', runId, container, phase: 'checking health' })?.[1]).toBe('checking health 7s');
    const tasks = { running: 2, wanted: 4 };
    expect(hear({ kind: 'phase_entered', runId, container, phase: 'starting', tasks })?.[1]).toBe(
      'starting 2 of 4 tasks',
    );
    expect(hear({ kind: 'update_completed', runId, outcome, atMs: 0 })?.[1]).toBe('updated');
  });

  test('tells how much of its health window a container has behind it, and after it the time', async () => {
    const clock = createFakeClock();
    const view = createRunView(clock);
    const status = () => view.rows()[0]?.cells[1]?.text;
    view.onEvent({ kind: 'phase_entered', runId, container: 'web', phase: 'checking health', windowMs: 10_000 });
    expect(status()).toBe('checking health 0 of 10s');
    await clock.advance(7000);
    expect(status()).toBe('checking health 7 of 10s');
    await clock.advance(5000);
    expect(status()).toBe('checking health 12s');
  });

  test('has a row for a service and one for the container of the same name', () => {
    const view = createRunView(createFakeClock());
    view.onEvent({ kind: 'containers_selected', runId, names: ['web', 'web service'] });
    const web = { runId, container: 'web', reason: '' } as const;
    view.onEvent({ kind: 'container_checked', ...web, image: 'nginx:1', status: 'fresh' });
    view.onEvent({ kind: 'container_checked', ...web, entryKind: 'service', image: 'app:1', status: 'stale' });
    view.onEvent({ kind: 'phase_entered', runId, container: 'web', entryKind: 'service', phase: 'starting' });
    expect(view.rows().map(({ cells }) => cells.map(({ text }) => text).filter(Boolean))).toEqual([
      ['web', 'up to date', 'nginx:1'],
      ['web', 'starting', 'app:1'],
    ]);
  });

  test('says which rows are worth a look when there is no room for all', () => {
    const view = createRunView(createFakeClock());
    const checked = (container: string, status: string) =>
      view.onEvent({ kind: 'container_checked', runId, container, image: '', status, reason: '' });
    checked('a', 'fresh');
    checked('b', 'unknown');
    checked('c', 'stale');
    view.onEvent({ kind: 'phase_entered', runId, container: 'c', phase: 'rolling back' });
    expect(view.rows().map(({ interest }) => interest)).toEqual(['quiet', 'told', 'busy']);
  });

  test('shows no control character of a name, an image or a reason', () => {
    const view = createRunView(createFakeClock());
    const evil = '\u001b[2Jx\n';
    view.onEvent({ kind: 'container_checked', runId, container: evil, image: evil, status: evil, reason: evil });
    // oxlint-disable-next-line no-control-regex -- looking for them is the point
    for (const { text } of view.rows()[0]?.cells ?? []) expect(text).not.toMatch(/[\u0000-\u001f]/);
  });
});
