import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const dist = join(root, 'dist');
const run = promisify(execFile);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'upkeep-bundle-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** wrap-ansi with its dependencies, and re2js, which checks patterns in options. */
function belongsToOptions(path: string): boolean {
  return /^node_modules\/(?:re2js|wrap-ansi|string-width|get-east-asian-width|strip-ansi|ansi-regex|ansi-styles|emoji-regex)\//.test(
    path,
  );
}

describe('the bundle', () => {
  test('help loads the options and nothing else', async () => {
    const sources = await sourcesLoadedBy(['--help']);
    expect(sources).toContain('src/main.ts');
    const others = sources.filter((path) => !/^src\/(?:main\.ts|config\/|domain\/)|\/croner\//.test(path));
    expect(others.filter((path) => !belongsToOptions(path))).toEqual([]);
  });

  test('a command with an engine loads neither the HTTP interface, the metrics nor the sandbox', async () => {
    const sources = await sourcesLoadedBy(['check', '--host', 'unix:///nowhere/docker.sock']);
    expect(sources.filter((path) => path.includes('/adapters/docker/')).length).toBeGreaterThan(10);
    expect(
      sources.filter((path) => /\/fastify\/|\/prom-client\/|\bsandbox\/|\/interfaces\/http\/|\/metrics\//.test(path)),
    ).toEqual([]);
  });

  test('has the licence of every package in it', () => {
    const bundled = readdirSync(dist)
      .filter((name) => name.endsWith('.js.map'))
      .flatMap((name) => sourcesOf(name))
      .flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
    const licences = readFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    expect(bundled).toContain('re2js');
    expect([...new Set(bundled)].filter((name) => !licences.includes(`\n${name} `))).toEqual([]);
  });

  test('has a bill of materials of the same packages, and no other, with their checksums', async () => {
    // Like `npm install --global`.
    const env = { ...process.env, npm_config_global: 'true' };
    await run('npm', ['run', '--silent', 'sbom'], { cwd: root, env });
    const bill = JSON.parse(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8')) as Bill;
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'upkeep' } } });
    const licences = readFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const titles = [...licences.matchAll(/^(\S+) (\S+) \(.*\)\n-{80}$/gm)].map(
      ([, name, version]) => `${name}@${version}`,
    );
    expect(bill.components.map((component) => component['bom-ref']).toSorted()).toEqual(titles.toSorted());
    for (const { hashes, licenses } of bill.components)
      expect([hashes, licenses]).toEqual([[expect.objectContaining({ alg: 'SHA-512' })], [expect.anything()]]);
  });
});

type Bill = {
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly hashes: readonly unknown[];
    readonly licenses: readonly unknown[];
  }[];
};

describe('the package', () => {
  test('holds the program alone, and runs where nothing else is installed', async () => {
    const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
    });
    const [{ filename, files }] = JSON.parse(packed.stdout) as [
      { readonly filename: string; readonly files: readonly { readonly path: string }[] },
    ];
    const outside = files.map(({ path }) => path).filter((path) => !path.startsWith('dist/'));
    expect(outside.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(files.filter(({ path }) => path.endsWith('.js')).length).toBeLessThan(40);

    const prefix = join(folder, 'prefix');
    const install = ['install', '--global', '--offline', '--prefix', prefix, join(folder, filename)];
    await run('npm', [...install, '--cache', join(folder, 'cache')]);
    const upkeep = join(prefix, 'bin/upkeep');
    expect((await run(upkeep, ['--help'])).stdout).toContain('Usage: upkeep');
    expect((await run(upkeep, ['demo', '--rounds', '1'])).stdout).toContain('14 of 14 containers are running');
  });
});

/** The sources, as paths from the root of the project, of the files that a run of the program loads. */
async function sourcesLoadedBy(args: readonly string[]): Promise<string[]> {
  const list = join(folder, `${args[0]}.json`);
  const hook = join(folder, 'list-loaded.cjs');
  const text = `process.on('exit', () => require('fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache))))`;
  writeFileSync(hook, text);
  await runUpkeep(args, { env: { NODE_OPTIONS: `--require=${hook}` } });
  const files = (JSON.parse(readFileSync(list, 'utf8')) as string[]).filter((path) => path.startsWith(dist));
  return files.flatMap((path) => sourcesOf(`${path.slice(dist.length + 1)}.map`));
}

/** Sources in a map; the bundler's own code has none. */
function sourcesOf(map: string): string[] {
  if (map === 'rolldown-runtime.js.map') return [];
  const { sources } = JSON.parse(readFileSync(join(dist, map), 'utf8')) as { readonly sources: readonly string[] };
  return sources.map((path) => path.replace(/^\.\.\//, ''));
}
