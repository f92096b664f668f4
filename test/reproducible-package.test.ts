import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** Packages whose code is in the bundle; the others only build it. */
const shipped = [
  '@fastify/swagger-ui',
  '@noble/curves',
  '@noble/hashes',
  '@opentelemetry/api',
  'ansi-regex',
  'ansi-styles',
  'bintrees',
  'croner',
  'entities',
  'get-east-asian-width',
  'jose',
  'linkify-it',
  'markdown-it',
  'mdurl',
  'nodemailer',
  'oauth4webapi',
  'openid-client',
  'prom-client',
  'punycode.js',
  're2js',
  'string-width',
  'strip-ansi',
  'tdigest',
  'uc.micro',
  'wrap-ansi',
  'yaml',
];

test('two packages from different folders have the same bytes, with a bill of materials in them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-packages-'));
  try {
    const [one = new Map(), other] = await Promise.all(
      ['one', 'in/another folder'].map((name) => pack(join(folder, name))),
    );
    expect([...one.keys()]).toEqual(expect.arrayContaining(['dist/main.js', 'dist/sbom.cdx.json', 'upkeep.tgz']));
    expect([...(other ?? [])]).toEqual([...one]);
    const licences = readFileSync(join(folder, 'one/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
    const bundled = [...licences.matchAll(/^-{80}\n(\S+) .*\n-{80}$/gm)].map(([, name]) => name);
    expect(bundled).toEqual(shipped);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Packs a copy of the sources; resolves to the digests of the package and of the files in it. */
async function pack(folder: string): Promise<ReadonlyMap<string, string>> {
  const paths = ['src', 'sandbox', 'scripts', 'package.json', 'package-lock.json', 'README.md', 'LICENSE'];
  for (const path of paths)
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (file) => !file.endsWith('.test.ts') });
  provideModules(join(folder, 'node_modules'));
  await run('npm', ['pack'], { cwd: folder });
  const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  const listed = (await run('tar', ['-tzf', archive], { cwd: folder })).stdout.trim().split('\n');
  const files = listed.map((path) => path.replace(/^package\//, '')).toSorted();
  const digestOf = (path: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, path)))
      .digest('hex');
  return new Map([...files.map((path) => [path, digestOf(path)] as const), ['upkeep.tgz', digestOf(archive)]]);
}

/** Copies of packages that end in the bundle, because it may depend on their place; links to the large rest. */
function provideModules(folder: string): void {
  const modules = realpathSync(join(root, 'node_modules'));
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : name,
  );
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    if (shipped.includes(name)) cpSync(join(modules, name), join(folder, name), { recursive: true });
    else symlinkSync(join(modules, name), join(folder, name));
  }
}
