import { describe, expect, test } from 'vitest';
import { createLog } from '../src/adapters/process/log.ts';
import { createEventLog } from '../src/application/events/history.ts';
import type { ServiceEvent } from '../src/domain/run/event.ts';
import type { ContainerOutcome } from '../src/domain/run/session.ts';
import { describeEvent } from '../src/interfaces/cli/render/events.ts';
import { outcomeTable } from '../src/interfaces/cli/render/container-table.ts';
import { sessionDocument } from '../src/interfaces/cli/context/context.ts';
import { porcelainTexts } from '../src/interfaces/cli/commands/run.ts';
import { printDocument, printTable, sessionLines } from '../src/interfaces/cli/render/print.ts';
import { createRunView } from '../src/interfaces/cli/render/live-table.ts';
import { createStyle } from '../src/interfaces/cli/terminal/style.ts';
import { layoutTable } from '../src/interfaces/cli/terminal/table.ts';
import { frameOf, stepFrameOf } from '../src/interfaces/http/events/event-streams.ts';
import { createMetrics } from '../src/interfaces/metrics/metrics.ts';
import { createFakeClock } from './support/clock/fake-clock.ts';
import { createFakeTerminal } from './support/scene/fake-terminal.ts';
import { silentLog } from './support/test-log.ts';

/** Line ends of all kinds, terminal commands in 7 and 8 bits, bidirectional overrides, quotes and ends of elements. */
const evil =
  'web\n\r\nevent: scan_failed\ndata: {}\n\n\u0085\u2028\u2029\u001b[2J\u001b]0;title\u0007\u009b31m\u0000\u007f\u202egpj\u2066' +
  String.raw`\" injected=yes msg="gone`.concat('</script><img src=x onerror=alert(1)>\ud800');

const runId = 'run-1';
const outcome: ContainerOutcome = {
  name: evil,
  image: evil,
  outcome: 'failed',
  reason: evil,
  oldImageId: evil,
  newImageId: evil,
  oldDigest: evil,
  newDigest: evil,
  log: evil,
};
const session = { runId, trigger: 'command', startedAtMs: 0, durationMs: 1, containers: [outcome] } as const;

const events: readonly ServiceEvent[] = [
  { kind: 'containers_selected', runId, names: [evil] },
  { kind: 'container_checked', runId, container: evil, image: evil, status: evil, reason: evil },
  { kind: 'update_started', runId, container: evil, image: evil, from: evil, to: evil, atMs: 0 },
  { kind: 'phase_entered', runId, container: evil, phase: 'pulling' },
  { kind: 'update_failed', runId, outcome, atMs: 0 },
  { kind: 'update_deferred', runId, outcome, atMs: 0 },
  { kind: 'update_completed', runId, outcome, atMs: 0 },
  {
    kind: 'image_cleanup',
    runId,
    images: [{ imageId: evil, imageName: evil, containerId: evil, containerName: evil }],
    atMs: 0,
  },
  { kind: 'scan_failed', runId, purpose: 'update', error: evil, atMs: 0 },
];

/** Characters that must not appear in output, except for its own line ends. */
const unsafe = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

const plain = createStyle(false);

describe('a container that is called and says the worst', () => {
  test.each(['json', 'logfmt', 'pretty'] as const)('writes one line of the log for each event, as %s', (format) => {
    const lines: string[] = [];
    const stream = { write: (text: string) => lines.push(text) };
    const log = createLog({ format, level: 'debug', stream, colour: false, nowMs: () => 0 });
    const announcements = events.flatMap((event) => describeEvent(event) ?? []);
    for (const { level, message, fields } of announcements) log[level](message, fields);
    expect(lines.length).toBe(events.length);
    for (const line of lines) {
      expect(line).toMatch(/^[^\n]+\n$/);
      expect(line).not.toMatch(unsafe);
      if (format !== 'json') expect(withoutQuoted(line)).not.toContain('injected=');
    }
  });

  test('takes one row of a table, on a terminal and in a pipe', async () => {
    for (const isTerminal of [true, false]) {
      const fake = createFakeTerminal({ isTerminal, columns: 10_000 });
      await printTable(fake.terminal, outcomeTable([outcome]), plain);
      expect(fake.out()).not.toMatch(unsafe);
      // On a terminal the reason stands below its row.
      expect(fake.out().trimEnd().split('\n').length).toBe(isTerminal ? 3 : 2);
    }
  });

  test('takes one row of the live table', () => {
    const view = createRunView(createFakeClock());
    for (const event of events) {
      view.onEvent(event);
      const rows = view.rows().map(({ cells }) => cells);
      const columns = ['A', 'B', 'C', 'D'].map((title) => ({ title, min: 1, keep: 'start', dropPriority: 0 }) as const);
      const lines = layoutTable({ columns, rows }, { width: 100, overflow: 'cut', style: plain });
      expect(lines.length).toBe(2);
      expect(lines.join('')).not.toMatch(/\p{C}/u);
    }
  });

  test('is a value in what --json and --porcelain print, and no more', () => {
    const fake = createFakeTerminal({ isTerminal: true });
    printDocument(fake.terminal, sessionDocument(session));
    for (const text of [fake.out(), porcelainTexts.json(session)]) {
      expect(text).not.toMatch(unsafe);
      expect(JSON.parse(text)).toMatchObject({ containers: [{ name: evil }] });
    }
    const line = porcelainTexts.v1(session);
    expect(line).toMatch(/^[^\n]+\n$/);
    expect(line).not.toMatch(unsafe);
  });

  test('has its last words told line by line', () => {
    const lines = sessionLines(session, plain);
    for (const line of lines) expect(line).not.toMatch(/\p{C}/u);
    expect(lines.filter((line) => line.startsWith('event: '))).toEqual([]);
  });

  test('is one event of the stream', () => {
    const options = {
      cleanup: false,
      noRestart: false,
      monitorOnly: false,
      lifecycleHooks: false,
      rollingRestart: false,
      labelTakesPrecedence: false,
      noPull: false,
      runOnce: false,
      useComposeDependsOn: false,
      skipSelfUpdate: false,
      reviveStopped: false,
    };
    const eventLog = createEventLog(silentLog);
    const steps: string[] = [];
    eventLog.subscribeToSteps((step) => steps.push(stepFrameOf(step, 0)));
    for (const event of events) eventLog.onEvent(event);
    expect(steps.length).toBeGreaterThan(0);
    // Every line end that some client knows.
    // oxlint-disable-next-line no-control-regex -- looking for them is the point
    for (const frame of steps) expect(frame.split(/\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/)).toHaveLength(4);
    for (const logged of eventLog.since(0)) {
      const frame = frameOf(logged, 'epoch', options) ?? '';
      // Every line end that some client knows.
      // oxlint-disable-next-line no-control-regex -- looking for them is the point
      const [id, kind, data, ...rest] = frame.split(/\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/);
      expect([id, kind, ...rest]).toEqual([`id: epoch-${logged.id}`, `event: ${logged.kind}`, '', '']);
      expect(JSON.parse(data?.slice('data: '.length) ?? '')).toMatchObject({ type: logged.kind });
    }
  });

  test('leaves no word of its own in the metrics', async () => {
    const metrics = createMetrics({ clock: createFakeClock(), updatesAvailable: () => 0, version: '1.2.3' });
    for (const event of events) metrics.record(event);
    const text = await metrics.text();
    expect(text).not.toMatch(/injected|scan_failed|alert/);
    expect(text).not.toMatch(unsafe);
  });
});

/** The text outside of quotes. */
function withoutQuoted(line: string): string {
  return line.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
}
