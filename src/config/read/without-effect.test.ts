import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { variablesOf } from '../table/environment.ts';
import { loadConfiguration } from './load.ts';
import type { Option } from '../table/option.ts';
import { optionEntries } from '../table/options.ts';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-accepted-'));
afterAll(() => rmSync(folder, { recursive: true }));

const accepted = optionEntries.flatMap(([key, option]) =>
  option.withoutEffect === undefined ? [] : [{ key, option }],
);
const flagged = accepted.filter(({ option }) => option.flag !== undefined);
const variables = accepted.flatMap(({ option }) => variablesOf(option).map(({ name }) => ({ option, name })));
const secrets = optionEntries.flatMap(([, { group, secret, flag }]) =>
  group === 'notifications' && secret ? [flag] : [],
);

describe('an option without effect', () => {
  test.each(flagged)('--$option.flag is understood, changes nothing, and is said to', ({ option }) => {
    const loaded = load([`--${option.flag}=${goodText(option)}`]);
    expect(loaded.settings).toEqual(load([]).settings);
    expect(loaded.warnings).toEqual([`--${option.flag} has no effect: ${option.withoutEffect}`]);
  });

  test.each(variables)('$name is understood, changes nothing, and is said to', ({ option, name }) => {
    const loaded = load([], { [name]: goodText(option) });
    expect(loaded.settings).toEqual(load([]).settings);
    expect(loaded.warnings).toEqual([`${name} has no effect: ${option.withoutEffect}`]);
    expect(loaded.aliases).toEqual([]);
  });

  test('shares its line with others of the same reason', () => {
    expect(load(['--ephemeral-self-update', '--self-update-orchestrator']).warnings).toEqual([
      '--ephemeral-self-update, --self-update-orchestrator have no effect: A helper container always does this; --no-self-update turns it off',
    ]);
  });
});

describe('a secret of notifications', () => {
  test.each(secrets)('--%s keeps its value to itself', (flag) => {
    const shown = (argv: readonly string[]) => {
      const loaded = loadConfiguration(['run', ...argv], {});
      return JSON.stringify(loaded.kind === 'command' ? { ...loaded, settings: undefined } : loaded);
    };
    expect(shown([`--${flag}=hunter2`])).not.toContain('hunter2');
    expect(shown([`--${flag}`, '-hunter2'])).not.toContain('hunter2');
    const file = join(folder, 'secret');
    writeFileSync(file, 'hunter2\n# hunter2\n');
    expect(shown([`--${flag}`, file])).not.toContain('hunter2');
  });

  test('all that may hold a secret is one', () => {
    expect(new Set(secrets)).toEqual(
      new Set([
        'notification-email-server-password',
        'notification-gotify-token',
        'notification-msteams-hook',
        'notification-slack-hook-url',
        'notification-url',
      ]),
    );
  });
});

test('a missing secret file and a bad value stop the start', () => {
  const faults = loadConfiguration(['run', '--notification-url', '/run/secrets/missing'], {
    WATCHTOWER_NOTIFICATION_REPORT: 'maybe',
  });
  expect(faults).toMatchObject({ kind: 'faults', exitCode: 1 });
  expect(faults).toMatchObject({ message: expect.stringContaining('there is no such file') });
  expect(faults).toMatchObject({ message: expect.stringContaining('expected true or false') });
});

function goodText(option: Option): string {
  return option.kind === 'text' || option.kind === 'list'
    ? 'text'
    : option.kind === 'boolean'
      ? 'true'
      : option.example;
}

function load(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const loaded = loadConfiguration(['run', ...argv], environment);
  if (loaded.kind !== 'command') throw new Error(JSON.stringify(loaded));
  return loaded;
}
