import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfiguration } from '../src/config/read/load.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const filesIn = (folder: string) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);

describe.each(filesIn('.github/workflows'))('%s', (path) => {
  const workflow = parse(textOf(path)) as Workflow;

  test('takes actions by their digest, with the version beside it', () => {
    const used = textOf(path).match(/uses: .*/g) ?? [];
    const foreign = used.filter((line) => !line.startsWith('uses: ./'));
    expect(foreign.filter((line) => !/^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  test('has no more rights than it names, and an end for each job', () => {
    expect(workflow).toHaveProperty('permissions');
    for (const [name, job] of Object.entries(workflow.jobs))
      if (job.uses === undefined) expect([name, job['timeout-minutes']]).toEqual([name, expect.any(Number)]);
  });

  test('runs scripts that a shell can read', () => {
    const scripts = Object.values(workflow.jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []));
    for (const script of scripts)
      expect(spawnSync('bash', ['-n', '-c', script], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  });
});

type Workflow = { readonly jobs: Readonly<Record<string, Job>> };
type Job = {
  readonly uses?: string;
  readonly 'timeout-minutes'?: number;
  readonly steps?: readonly { readonly run?: string }[];
};

test('the forms and the dependency updates are YAML, and name folders that are there', () => {
  for (const path of filesIn('.github/ISSUE_TEMPLATE')) expect(parse(textOf(path))).toBeTypeOf('object');
  type Update = { readonly directory?: string; readonly directories?: readonly string[] };
  const { updates } = parse(textOf('.github/dependabot.yml')) as { readonly updates: readonly Update[] };
  const named = updates.flatMap(({ directory, directories }) => directories ?? directory ?? []);
  expect(named.filter((folder) => !existsSync(join(root, folder.replace('*', ''))))).toEqual([]);
});

test('the image has the version of the package', () => {
  const { version } = JSON.parse(textOf('package.json')) as { readonly version: string };
  expect(textOf('Dockerfile')).toContain(`ARG VERSION=${version}\n`);
});

describe('the systemd unit', () => {
  const unit = textOf('packaging/systemd/upkeep.service');

  test('starts Upkeep with options that it knows', () => {
    const lines = [...unit.matchAll(/^Environment="?(UPKEEP_\w+)=(.*?)"?$/gm)];
    const environment = Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]));
    const command = /^ExecStart=\/usr\/bin\/env upkeep (.*)$/m.exec(unit)?.[1] ?? '';
    expect(Object.keys(environment)).toHaveLength(2);
    const configuration = loadConfiguration(command.split(' '), environment);
    expect(configuration).toMatchObject({ kind: 'command', command: 'run', warnings: [], alarms: [] });
  });

  test.skipIf(spawnSync('systemd-analyze', ['--version']).error)('is one that systemd has nothing to say about', () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-unit-'));
    try {
      const file = join(folder, 'upkeep.service');
      writeFileSync(file, unit);
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
      expect([status, stderr.split('\n').filter((line) => line.includes('upkeep'))]).toEqual([0, []]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
