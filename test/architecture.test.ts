import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readModuleText } from './support/module-text.ts';

const waysThroughProxies = ['network-errors', 'proxy-choice', 'tunnel'].map(
  (name) => `adapters/oci/transport/${name}.ts`,
);

/** The house, as docs/ARCHITECTURE.md draws it: who may import whom, and what they may not touch. */
const rooms: readonly Room[] = [
  {
    folder: 'domain',
    mayImport: ['re2js'],
    because:
      'what is true depends on nothing: it can be read, tested and moved alone (re2js is pure, for name-pattern.ts)',
    pure: true,
  },
  {
    folder: 'application',
    mayImport: ['domain/'],
    because: 'it is handed the world as one object, so that a test can hand it another',
    pure: true,
  },
  {
    folder: 'adapters/docker',
    mayImport: ['domain/', 'node:'],
    because: 'it speaks the Docker Engine API and knows nothing else of us',
  },
  {
    folder: 'adapters/oci',
    mayImport: ['domain/', 'node:'],
    because: 'it speaks the OCI distribution protocol and knows nothing else of us',
  },
  {
    folder: 'adapters/files',
    mayImport: ['domain/', 'node:'],
    because: 'it keeps what the domain describes',
  },
  {
    folder: 'adapters/service',
    mayImport: ['domain/', 'node:'],
    because: 'it speaks the HTTP API of a running service and knows nothing else of us',
  },
  {
    folder: 'adapters/notify',
    mayImport: ['domain/', 'node:', ...waysThroughProxies, 'nodemailer'],
    because: 'it tells people, on the same roads as the client for registries; nodemailer is loaded only when used',
  },
  {
    folder: 'adapters/probe',
    mayImport: ['domain/', 'node:'],
    because: 'it asks containers whether they answer, and knows nothing else of us',
  },
  {
    folder: 'adapters/process',
    mayImport: ['domain/', 'node:'],
    because: 'clock, log and identity of this process',
  },
  {
    folder: 'interfaces/http',
    mayImport: ['domain/', 'application/application.ts', 'interfaces/json/', 'node:', 'fastify'],
    because: 'a route knows the table of contents of the service and nothing behind it',
  },
  {
    folder: 'interfaces/cli',
    mayImport: ['domain/', 'application/application.ts', 'interfaces/json/', 'config/', 'node:util'],
    because: 'a command works the same with or without a running service',
  },
  {
    folder: 'interfaces/json',
    mayImport: ['domain/', 'application/application.ts'],
    because: 'what a reply says and what a command prints are the same entries',
  },
  {
    folder: 'interfaces/metrics',
    mayImport: ['domain/', 'prom-client'],
    because: 'it only listens to events',
  },
  {
    folder: 'interfaces/dashboard',
    mayImport: ['domain/', 'node:'],
    because: 'the page is a client of the HTTP interface like any other',
  },
  {
    folder: 'config',
    mayImport: ['domain/', 'node:fs', 'node:path', 'node:process', 'node:util', 'croner'],
    because: 'what is wanted is known before anything is built',
  },
];

type Room = {
  readonly folder: string;
  /** Prefixes of paths under `src/` (a folder ends in a slash) and of package names; the room itself is always allowed. */
  readonly mayImport: readonly string[];
  readonly because: string;
  /** No clock, chance, input or output of its own: they come in through `Outside`. */
  readonly pure?: true;
};

/** What reaches around `Outside` without an import. */
const impure: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bperformance\b/, 'time comes from Clock'],
  [/\b(?:setTimeout|setInterval|setImmediate)\b|\bAbortSignal\.timeout\b/, 'waiting comes from Clock'],
  [/\bMath\.random\b|\bcrypto\b/, 'chance comes in as an argument'],
  [/\bconsole\b/, 'messages go to Log'],
  [/\bfetch\s*\(|\bWebSocket\b|\bEventSource\b/, 'the network is reached by adapters'],
  [/\bprocess\.|\bBuffer\b|\bglobalThis\b|\b__dirname\b/, 'Node is known to adapters and main.ts'],
];

const src = fileURLToPath(new URL('../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort();
const modules = files.map((path) => ({ path, ...readModuleText(readFileSync(join(src, path), 'utf8')) }));
const shipped = modules.filter(({ path }) => !path.endsWith('.test.ts'));

describe('the house', () => {
  test('there are modules to look at, and imports are seen in them', () => {
    expect(files.length).toBeGreaterThan(10);
    expect(modules.flatMap(({ specifiers }) => specifiers).length).toBeGreaterThan(10);
  });

  test('every module lives in a room of the table, or is main.ts', () => {
    const homeless = files.filter((path) => path !== 'main.ts' && roomOf(path) === undefined);
    expect(homeless).toEqual([]);
  });

  test.each(rooms)('$folder imports only what it may: $because', (room) => {
    const wrong = inRoom(room).flatMap(({ path, specifiers }) =>
      specifiers
        .map((specifier) => resolve(path, specifier))
        .filter((target) => !isAllowed(room, target))
        .map((target) => `src/${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test.each(rooms.filter((room) => room.pure))('$folder has no clock, chance, input or output of its own', (room) => {
    const wrong = inRoom(room).flatMap(({ path, code }) =>
      impure.flatMap(([pattern, why]) => linesWith(code, pattern).map((line) => `src/${path}:${line}: ${why}`)),
    );
    expect(wrong).toEqual([]);
  });

  test('re2js is known to domain/text/name-pattern.ts only: patterns of users and requests never reach another engine', () => {
    const users = shipped.filter(({ specifiers }) => specifiers.includes('re2js')).map(({ path }) => path);
    expect(users).toEqual(['domain/text/name-pattern.ts']);
  });

  test('process.env is read in config/ only, so that every option is in its table', () => {
    const wrong = shipped
      .filter(({ path }) => !path.startsWith('config/'))
      .flatMap(({ path, code }) =>
        linesWith(code, /\bprocess\s*\.\s*env\b|\benv\b[^}]*\}\s*=\s*process\b/).map((line) => `src/${path}:${line}`),
      );
    expect(wrong).toEqual([]);
  });

  test('main.ts is imported by nobody: it is where everything is known', () => {
    const wrong = modules.filter(({ path, specifiers }) =>
      specifiers.some((specifier) => resolve(path, specifier) === 'main.ts'),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('files are named in kebab-case, with the extension in every relative import', () => {
    const wrongNames = files.filter(
      (path) => !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)*[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test)?\.ts$/.test(path),
    );
    expect(wrongNames).toEqual([]);
    const wrongImports = modules.flatMap(({ path, specifiers }) =>
      specifiers.filter((s) => s.startsWith('.') && !s.endsWith('.ts')).map((s) => `src/${path} imports ${s}`),
    );
    expect(wrongImports).toEqual([]);
  });
});

describe('readModuleText()', () => {
  test.each([
    ["import { a } from './a.ts';", ['./a.ts']],
    ["import type { A,\n  B } from './a.ts';", ['./a.ts']],
    ["import './effect.ts';", ['./effect.ts']],
    ["import x, * as y from 'y';", ['y']],
    ['export * from \'./a.ts\'; export { b } from "b";', ['./a.ts', 'b']],
    ["const m = await import('node:fs');", ['node:fs']],
    ['const m = await import(name);', ['(computed)']],
    ["type A = import('./a.ts').A;", ['./a.ts']],
    ["// import './no.ts'\n/* import './no.ts' */ const s = \"import './no.ts'\";", []],
    ["const t = `import './no.ts' ${await import('yes')} import './no.ts'`;", ['yes']],
    ["const r = /['\"`]/; import './a.ts';", ['./a.ts']],
    ["const half = 1 / 2; import './a.ts'; const q = 'it\\'s'; import './b.ts';", ['./a.ts', './b.ts']],
  ])('finds the imports of %j', (source, expected) => {
    expect(readModuleText(source).specifiers).toEqual(expected);
  });

  test('blanks comments and strings, keeps code and line numbers', () => {
    const { code } = readModuleText("// Date.now()\nconst a = 'Date.now()'; `${Date.now()}`;");
    expect(linesWith(code, /Date\.now/)).toEqual([2]);
    expect(code.match(/Date\.now/g)).toHaveLength(1);
  });
});

function roomOf(path: string): Room | undefined {
  return rooms.find(({ folder }) => path.startsWith(`${folder}/`));
}

function inRoom(room: Room): typeof shipped {
  return shipped.filter(({ path }) => roomOf(path) === room);
}

/** A path under `src/` for a relative import, the specifier itself for a package. */
function resolve(from: string, specifier: string): string {
  return specifier.startsWith('.') ? relative(src, join(src, dirname(from), specifier)) : specifier;
}

function isAllowed(room: Room, target: string): boolean {
  if (target.startsWith(`${room.folder}/`)) return true;
  return room.mayImport.some((allowed) =>
    /[/:]$/.test(allowed) ? target.startsWith(allowed) : target === allowed || target.startsWith(`${allowed}/`),
  );
}

function linesWith(code: string, pattern: RegExp): number[] {
  return code.split('\n').flatMap((line, index) => (pattern.test(line) ? [index + 1] : []));
}
