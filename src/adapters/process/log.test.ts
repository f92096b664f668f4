import * as fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { createLog, type LogOptions } from './log.ts';

const atMs = Date.UTC(2026, 10, 20, 12, 30, 17, 250);

describe('createLog()', () => {
  test('writes JSON lines where nobody looks on, and readable ones on a terminal', () => {
    expect(linesOf({}, (log) => log.info('Started', { port: 8080 }))).toEqual([
      '{"time":"2026-11-20T12:30:17.250Z","level":"info","msg":"Started","port":8080}',
    ]);
    const [pretty] = linesOf({ isTTY: true }, (log) => log.info('Started', { port: 8080, name: 'a b' }));
    expect(pretty).toMatch(/^2026-11-2\d \d\d:\d0:17 info {2}Started port=8080 name="a b"$/);
  });

  test('writes logfmt when asked', () => {
    const [line] = linesOf({ format: 'logfmt' }, (log) =>
      log.warn('Not "known"', { name: 'a b', count: 2, list: [1, 'x'] }),
    );
    expect(line).toBe(
      String.raw`time=2026-11-20T12:30:17.250Z level=warn msg="Not \"known\"" name="a b" count=2 list="[1,\"x\"]"`,
    );
  });

  test.each([
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['info', ['error', 'warn', 'info']],
    ['debug', ['error', 'warn', 'info', 'debug']],
  ] as const)('at level %s writes %j', (level, expected) => {
    const lines = linesOf({ level }, (log) => {
      for (const of of ['error', 'warn', 'info', 'debug'] as const) log[of]('x');
    });
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(expected);
  });

  test.each(['json', 'logfmt', 'pretty'] as const)('lets no control character through as %s', (format) => {
    const evil = 'a\u001b[2J\u009b31m\r\n\u202eb\u2028\u{e0041}';
    const [line = '', ...more] = linesOf({ format, isTTY: true }, (log) =>
      log.info(evil, { [evil]: evil, list: [evil] }),
    );
    expect(more).toEqual([]);
    // oxlint-disable-next-line no-control-regex -- looking for them is the point
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e\u2028]|\u{e0041}/u);
    if (format === 'json') expect(JSON.parse(line)).toMatchObject({ msg: evil, [evil]: evil, list: [evil] });
  });

  test.each(['logfmt', 'pretty'] as const)('lets no value end its own quotes as %s', (format) => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', '=', ' ', '\n') }), (evil) => {
        const [line = ''] = linesOf({ format }, (log) => log.info('x', { evil, own: 'y' }));
        const pairs = [...line.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|\S+)(?: |$)/g)].map(([, name, value]) => [
          name,
          value,
        ]);
        // An empty value is not shown.
        const shown = format === 'pretty' && evil === '' ? ['own'] : ['evil', 'own'];
        expect(pairs.slice(-shown.length).map(([name]) => name)).toEqual(shown);
        expect(pairs.length).toBe(format === 'logfmt' ? 5 : shown.length);
      }),
    );
  });

  test('pretty is one line of at most 160 columns, without what the message says and what only programs read', () => {
    const write = (log: ReturnType<typeof createLog>) => {
      log.info('web: updated (down for 215ms)', {
        event: 'update_completed',
        runId: 'run-1',
        name: 'web',
        oldImageId: `sha256:${'a'.repeat(64)}`,
        downtimeMs: 214.9932,
        path: `/${'x'.repeat(200)}`,
      });
    };
    const [updated = ''] = linesOf({ format: 'pretty' }, write);
    expect(updated).toHaveLength(160);
    expect(updated.slice('2026-11-20 12:30:17 '.length)).toMatch(
      /^info {2}web: updated \(down for 215ms\) downtime_ms=215 path=\/x+…$/,
    );
  });

  test('pretty cuts a long name or reason of any script, but never a warning or an error, and JSON has all of it', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', ' ', '"', '\\', '漢', 'é', 'e\u0301', '👩‍💻', '\n'),
      maxLength: 400,
      size: 'max',
    });
    const levels = fc.constantFrom('error', 'warn', 'info', 'debug');
    fc.assert(
      fc.property(levels, text, text, text, (level, name, reason, error) => {
        const write = (log: ReturnType<typeof createLog>) =>
          log[level](`${name}: rolled back: ${reason}`, { container: name, error, attempts: 3 });
        const [line = '', ...more] = linesOf({ format: 'pretty', level: 'debug' }, write);
        expect(more).toEqual([]);
        if (level === 'info' || level === 'debug') expect(stringWidth(line)).toBeLessThanOrEqual(160);
        else expect(line).not.toContain('…');
        const [whole = ''] = linesOf({ format: 'json', level: 'debug' }, write);
        expect(JSON.parse(whole)).toMatchObject({ msg: `${name}: rolled back: ${reason}`, container: name, error });
      }),
      { endOnFailure: true },
    );
  });

  test('pretty shows the whole reason of a warning, and of other lines as far as it fits', () => {
    const error = `it is ${'very '.repeat(60)}locked`;
    const lines = linesOf({ format: 'pretty' }, (log) => {
      log.info('A kept container cannot be removed', { container: 'app', error });
      log.warn('A kept container cannot be removed', { container: 'app', error });
      log.info('It happens', { container: 'app', status: 404 });
    });
    const said = lines.map((line) => line.slice('2026-11-20 12:30:17 '.length));
    expect(lines[0]?.length).toBeGreaterThan(155);
    expect(said[0]).toMatch(/^info {2}A kept container cannot be removed container=app error="it is very .*…"$/);
    expect(said[1]).toBe(`warn  A kept container cannot be removed container=app error="${error}"`);
    expect(said[2]).toBe('info  It happens container=app status=404');
  });

  test.each(['json', 'logfmt'] as const)('as %s has all fields, with one casing and rounded numbers', (format) => {
    const [line] = linesOf({ format }, (log) => log.info('x', { runId: 'run-1', downtimeMs: 214.9932, 'aB c': 1.25 }));
    const text =
      format === 'json' ? '"run_id":"run-1","downtime_ms":215,"aB c":1.3' : 'run_id=run-1 downtime_ms=215 aB_c=1.3';
    expect(line).toContain(text);
  });

  test('names what is inside a field in the same casing, except the names of an engine', () => {
    const checked = {
      candidateKind: 'minor',
      eligibleAtMs: 5,
      more: [{ imageId: 'a', MaximumRetryCount: 0 }],
    };
    const [line] = linesOf({ format: 'json' }, (log) => log.info('x', { checked }));
    expect(JSON.parse(line ?? '')).toMatchObject({
      checked: {
        candidate_kind: 'minor',
        eligible_at_ms: 5,
        more: [{ image_id: 'a', MaximumRetryCount: 0 }],
      },
    });
  });

  test('colours only when told to', () => {
    const [plain, coloured] = [false, true].map(
      (colour) => linesOf({ isTTY: true, colour }, (log) => log.error('x'))[0],
    );
    expect(plain).not.toContain('\u001b');
    expect(coloured).toContain('\u001b[31merror\u001b[0m');
  });

  test.each(['json', 'logfmt', 'pretty'] as const)('hides secrets as %s, wherever they are', (format) => {
    const secrets = ['hunter2!', 'abc'];
    const [line] = linesOf({ format, secrets }, (log) =>
      log.info('login with hunter2! at https://me:pw@registry.test/v2/', {
        alphabet: 'abc',
        token: 'x1',
        apiKey: 'x5',
        nested: { registryPassword: 'x2', deep: ['hunter2!'], forgeApiKey: 'x6' },
        error: new Error('hunter2! refused'),
        proxy: 'http://u:p@proxy:1',
        engine: 'ssh://me@nas:x3@x4@host',
      }),
    );
    expect(line).not.toMatch(/hunter2|x[1-6]|me:pw|u:p@/);
    expect(line).toContain('https://***@registry.test/v2/');
    expect(line).toContain('abc');
  });

  test('survives whatever is given as a field', () => {
    const circular: Record<string, unknown> = { big: 10n, symbol: Symbol('s'), call: () => 1, none: undefined };
    circular['self'] = circular;
    const [line = ''] = linesOf({}, (log) =>
      log.info('x', {
        circular,
        time: 'mine',
        __proto__: 1,
        long: 'y'.repeat(100_000),
        wide: Array.from({ length: 1000 }, () => 1),
      }),
    );
    expect(line.length).toBeLessThan(6000);
    expect(JSON.parse(line)).toMatchObject({
      time: '2026-11-20T12:30:17.250Z',
      time_: 'mine',
      circular: { big: '10' },
    });
  });
});

function linesOf(
  options: Partial<LogOptions> & { readonly isTTY?: boolean },
  use: (log: ReturnType<typeof createLog>) => void,
): string[] {
  let text = '';
  const stream = { isTTY: options.isTTY, write: (chunk: string) => (text += chunk) };
  use(createLog({ format: 'auto', level: 'info', colour: false, nowMs: () => atMs, ...options, stream }));
  expect(text.endsWith('\n')).toBe(true);
  return text.slice(0, -1).split('\n');
}
