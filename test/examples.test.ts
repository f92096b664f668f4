import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfiguration } from '../src/config/read/load.ts';
import { readLabels } from '../src/domain/settings/effective-settings.ts';
import { aTrackedContainer } from './support/scene/tracked-container.ts';
import { createMetrics } from '../src/interfaces/metrics/metrics.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folders = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `examples/${name}`);
const composeFiles = ['.', ...folders]
  .map((folder) => join(folder, 'compose.yaml'))
  .filter((path) => existsSync(join(root, path)));

type Service = {
  readonly image: string;
  readonly command?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
};

const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

function servicesOf(path: string): readonly Service[] {
  return Object.values((parse(textOf(path)) as { readonly services: Readonly<Record<string, Service>> }).services);
}

describe.each(composeFiles)('%s', (path) => {
  const services = servicesOf(path);

  test('starts Upkeep with options that it knows, and without a warning', () => {
    const upkeep = services.filter(({ image }) => image === 'upkeep');
    expect(upkeep).toHaveLength(1);
    for (const { command = 'run', environment = {} } of upkeep) {
      const configuration = loadConfiguration(command.split(/\s+/), withTokens(environment));
      expect(configuration).toMatchObject({ kind: 'command', command: 'run', warnings: [], alarms: [] });
    }
  });

  test('gives Upkeep the time to end the update of the current container', () => {
    for (const service of services.filter(({ image }) => image === 'upkeep'))
      expect(service).toMatchObject({ stop_grace_period: '2m' });
  });

  test('has labels that Upkeep hears', () => {
    for (const { labels = {} } of services) expect(readLabels(labels, {}).warnings).toEqual([]);
  });

  test('mounts only files that are there, but the token', () => {
    const mounted = services.flatMap(({ volumes = [] }) => volumes).filter((volume) => volume.startsWith('./'));
    const files = mounted.map((volume) => join(dirname(path), volume.split(':')[0] ?? ''));
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    for (const name of services.flatMap(({ secrets = [] }) => secrets)) expect(name).toBe('upkeep-token');
  });
});

/** The files with tokens exist in the container only. */
function withTokens(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.startsWith('/run/secrets/') ? 'a-token-of-the-right-length' : value,
    ]),
  );
}

test('each example is on its page, and each of its files is there', () => {
  const page = textOf('examples/README.md');
  const linked = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  expect(linked.filter((target) => !existsSync(join(root, 'examples', target)))).toEqual([]);
  expect(folders.filter((folder) => !linked.some((target) => `examples/${target}`.startsWith(`${folder}/`)))).toEqual(
    [],
  );
});

describe('the dashboard and the alerts', () => {
  type Panel = { readonly title: string; readonly targets: readonly { readonly expr: string }[] };
  const { panels } = JSON.parse(textOf('examples/monitoring/grafana/dashboard.json')) as {
    readonly panels: readonly Panel[];
  };
  const alerts = parse(textOf('examples/monitoring/alerts.yml')) as {
    readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
  };
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const rules = alerts.groups.flatMap((group) => group.rules.map(({ expr }) => expr));

  test('ask for metrics that Upkeep has', async () => {
    const clock = { monotonicMs: () => 0, nowMs: () => 0 };
    const containers = () => [aTrackedContainer({ staleness: 'fresh', checkedAtMs: 0 })];
    const text = await createMetrics({ clock, updatesAvailable: () => 0, version: '1', containers }).text();
    const served = new Set(text.split('\n').map((line) => /^[a-z_]+/.exec(line)?.[0]));
    const asked = [...queries, ...rules].flatMap((query) => query.match(/\b(?:upkeep|process)_[a-z_]+/g) ?? []);
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.filter((name) => !served.has(name))).toEqual([]);
  });

  test.skipIf(spawnSync('promtool', ['--version']).error)('are queries that Prometheus reads', () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-rules-'));
    try {
      const file = join(folder, 'rules.yml');
      const asRules = queries.map((query, index) => ({ record: `query_${index}`, expr: asGrafanaSends(query) }));
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }));
      for (const path of [file, join(root, 'examples/monitoring/alerts.yml')]) {
        const { status, stderr } = spawnSync('promtool', ['check', 'rules', path], { encoding: 'utf8' });
        expect([status, stderr]).toEqual([0, '']);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const asGrafanaSends = (query: string) => query.replaceAll('$instance', '.*').replaceAll('$__range', '7d');
});

test('the socket proxy lets exactly the calls of docs/engines.md pass', () => {
  const section = /## A proxy in front of the socket\n(.*)/s.exec(textOf('docs/engines.md'))?.[1] ?? '';
  const rows = [...section.matchAll(/^\| (GET|POST|DELETE) \| `([^`]+)` \|/gm)].map(([, method = '', path = '']) => ({
    method,
    path,
  }));
  const listed = rows.slice(
    0,
    rows.findIndex(({ path }) => path.startsWith('/volumes')),
  );
  const optional = rows.slice(listed.length);
  expect(listed.length).toBeGreaterThan(20);
  expect(listed.filter((call) => !passes(call))).toEqual([]);
  expect(optional.filter((call) => passes(call))).toEqual([]);
  for (const path of ['/exec/{id}/start', '/containers/{id}/exec', '/build', '/swarm/init', '/volumes/create'])
    expect([path, passes({ method: 'POST', path })]).toEqual([path, false]);
});

test('the lines for copies of data let exactly their calls pass when their # is removed', () => {
  const config = textOf('examples/socket-proxy/haproxy.cfg').replaceAll('# acl', 'acl');
  const passing = (method: string) => (path: string) => passes({ method, path }, config);
  expect(['/volumes', '/volumes/db'].filter(passing('GET'))).toEqual(['/volumes']);
  expect(['/volumes/create', '/volumes/prune'].filter(passing('POST'))).toEqual(['/volumes/create']);
  expect(['/volumes/upkeep-data-web-1f0c6f7a9d3b2e41', '/volumes'].filter(passing('DELETE'))).toHaveLength(1);
});

function passes(
  { method, path }: { readonly method: string; readonly path: string },
  config = textOf('examples/socket-proxy/haproxy.cfg'),
): boolean {
  const kind = { GET: 'read', POST: 'change', DELETE: 'remove' }[method];
  const called = path.replaceAll('{name}', 'ghcr.io/acme/api:2').replaceAll(/\{\w+\}/g, 'a1b2.upkeep-new');
  const patterns = [...config.matchAll(/^ {2}acl (\w+) path_reg (\S+)$/gm)];
  const isIn = (whole: string) =>
    patterns.some(([, name, pattern = '']) => name === kind && new RegExp(pattern).test(whole));
  // Upkeep puts the version of the API before all but /version.
  return isIn(called) && (path === '/version' || isIn(`/v1.41${called}`));
}
