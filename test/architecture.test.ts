import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importGraphOf } from './support/pages/import-graph.ts';
import { readModuleText } from './support/pages/module-text.ts';

/** The layers, as in docs/ARCHITECTURE.md: the allowed imports, and the forbidden globals. */
const floors: readonly Floor[] = [
  {
    folder: 'src/domain',
    mayImport: ['re2js'],
    because: 'rules depend on nothing (re2js is pure, for name-pattern.ts)',
    pure: true,
  },
  {
    folder: 'src/application',
    mayImport: ['src/domain/'],
    because: 'a test passes it another `Outside`',
    pure: true,
  },
  {
    folder: 'src/adapters/docker',
    mayImport: ['src/domain/', 'node:'],
    because: 'it is independent of the application and other adapters',
  },
  {
    folder: 'src/adapters/http',
    mayImport: ['src/domain/', 'node:'],
    because: 'it is the way to servers, for the adapters that speak HTTP with them',
  },
  {
    folder: 'src/adapters/oci',
    mayImport: ['src/domain/', 'src/adapters/http/', 'node:'],
    because: 'it is independent of the application and other adapters',
  },
  {
    folder: 'src/adapters/service',
    mayImport: ['src/domain/', 'src/adapters/http/', 'node:'],
    because: 'it is independent of the application and other adapters',
  },
  {
    folder: 'src/adapters/files',
    mayImport: ['src/domain/', 'node:', 'yaml'],
    because: 'it is independent of the application and other adapters; yaml is loaded only for compose files',
  },
  {
    folder: 'src/adapters/forge',
    mayImport: ['src/domain/', 'src/adapters/http/', 'node:', 'markdown-it'],
    because: 'markdown-it is loaded only when used',
  },
  {
    folder: 'src/adapters/notify',
    mayImport: ['src/domain/', 'node:', 'src/adapters/http/', 'nodemailer'],
    because: 'nodemailer is loaded only when used',
  },
  {
    folder: 'src/adapters/oidc',
    mayImport: ['src/domain/', 'src/adapters/http/', 'node:', 'openid-client'],
    because: 'openid-client is loaded with the first sign-in',
  },
  {
    folder: 'src/adapters/probe',
    mayImport: ['src/domain/', 'node:'],
    because: 'it is independent of the application and other adapters',
  },
  {
    folder: 'src/adapters/process',
    mayImport: ['src/domain/', 'node:', '@noble/curves'],
    because: 'it is independent of the application and other adapters',
  },
  {
    folder: 'src/interfaces/http',
    mayImport: ['src/domain/', 'src/application/application.ts', 'src/interfaces/json/', 'node:'],
    because: 'a route uses the list of use cases only',
  },
  {
    folder: 'src/interfaces/cli',
    mayImport: [
      'src/domain/',
      'src/application/application.ts',
      'src/interfaces/json/',
      'src/config/',
      'node:util',
      'string-width',
      'wrap-ansi',
    ],
    because: 'a command works with or without a running service',
  },
  {
    folder: 'src/interfaces/json',
    mayImport: ['src/domain/', 'src/application/application.ts'],
    because: 'replies and commands have the same entries',
  },
  {
    folder: 'src/interfaces/metrics',
    mayImport: ['src/domain/', 'prom-client'],
    because: 'it only reads events',
  },
  {
    folder: 'src/interfaces/dashboard',
    mayImport: ['src/domain/text/words.ts', 'src/domain/text/duration.ts'],
    because: 'it runs in a browser, and uses the service through its API only; words and units are shared',
  },
  {
    folder: 'src/config',
    mayImport: ['src/domain/', 'node:fs', 'node:path', 'node:process', 'node:util', 'croner'],
    because: 'settings are read before anything is built',
  },
  {
    folder: 'src/composition',
    mayImport: ['src/', 'sandbox/', 'node:'],
    because: 'it builds and connects all parts',
  },
  {
    folder: 'sandbox',
    mayImport: ['src/domain/', 'node:'],
    because: 'it must not depend on the real engine and registry',
  },
];

type Floor = {
  readonly folder: string;
  /** Prefixes of paths (a folder ends in a slash) and of package names. A layer may always import itself. */
  readonly mayImport: readonly string[];
  readonly because: string;
  /** No own clock, random numbers, input or output: these come in through `Outside`. */
  readonly pure?: true;
};

/** Access to the outside without an import. */
const impure: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bperformance\b/, 'time comes from Clock'],
  [/\b(?:setTimeout|setInterval|setImmediate)\b|\bAbortSignal\.timeout\b/, 'waiting comes from Clock'],
  [/\bMath\.random\b|\bcrypto\b/, 'chance comes in as an argument'],
  [/\bconsole\b/, 'messages go to Log'],
  [/\bfetch\s*\(|\bWebSocket\b|\bEventSource\b/, 'the network is reached by adapters'],
  [/\bprocess\.|\bBuffer\b|\bglobalThis\b|\b__dirname\b/, 'Node is known to adapters and main.ts'],
];

/**
 * A stranger finds a thing among few deep files sooner than among many small ones: docs/ARCHITECTURE.md. Before you raise
 * a number for a new feature, merge a small file into its importer, or drop an `export` that one file needs.
 */
const mayOnlyFall = { sourceFiles: 372, coreFilesWithOneImporter: 28, coreExports: 1438 };

const exportOfOneName = /^export (?:async )?(?:function|const|type|class|let)\b/;

const mainPath = 'src/main.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const files = ['src', 'sandbox']
  .flatMap((top) => readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((path) => join(top, path)))
  .filter((path) => path.endsWith('.ts'))
  .sort();
const modules = files.map((path) => ({ path, ...readModuleText(readFileSync(join(root, path), 'utf8')) }));
const shipped = modules.filter(({ path }) => !path.endsWith('.test.ts'));
const house = importGraphOf(
  shipped.map(({ path, specifiers, loaded }) => ({
    path,
    imports: specifiers.map((specifier) => resolve(path, specifier)),
    loads: loaded.map((specifier) => resolve(path, specifier)),
  })),
);

describe('the house', () => {
  test('there are modules to look at, and imports are seen in them', () => {
    expect(files.length).toBeGreaterThan(10);
    expect(modules.flatMap(({ specifiers }) => specifiers).length).toBeGreaterThan(10);
  });

  test('every module is on a floor of the table, or is main.ts', () => {
    const homeless = files.filter((path) => path !== mainPath && floorOf(path) === undefined);
    expect(homeless).toEqual([]);
  });

  test('the table names only what exists', () => {
    const named = floors.flatMap(({ folder, mayImport }) => [folder, ...mayImport.filter(isOurs)]);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('no circle of imports between folders, not even of types, nor between the files of a folder', () => {
    expect(house.circles).toEqual([]);
  });

  test('the tree does not grow small files again: `mayOnlyFall` says what to do when it does', () => {
    const source = shipped.filter(({ path }) => path.startsWith('src/'));
    const core = source.filter(({ path }) => /^src\/(?:domain|application|composition)\//.test(path));
    expect({
      'source files': source.length,
      'core files with one importer': core.filter(({ path }) => house.importers.get(path)?.size === 1).length,
      'exports of the core': core.flatMap(({ code }) => linesWith(code, exportOfOneName)).length,
    }).toEqual({
      'source files': atMost(mayOnlyFall.sourceFiles),
      'core files with one importer': atMost(mayOnlyFall.coreFilesWithOneImporter),
      'exports of the core': atMost(mayOnlyFall.coreExports),
    });
  });

  test.each(floors)('$folder imports only what it may: $because', (floor) => {
    const wrong = onFloor(floor).flatMap(({ path, specifiers }) =>
      specifiers
        .map((specifier) => resolve(path, specifier))
        .filter((target) => !isAllowed(floor, target))
        .map((target) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test.each(floors.filter((floor) => floor.pure))(
    '$folder has no clock, chance, input or output of its own',
    (floor) => {
      const wrong = onFloor(floor).flatMap(({ path, code }) =>
        impure.flatMap(([pattern, why]) => linesWith(code, pattern).map((line) => `${path}:${line}: ${why}`)),
      );
      expect(wrong).toEqual([]);
    },
  );

  test('re2js is known to domain/text/name-pattern.ts only: patterns of users and requests never reach another engine', () => {
    const users = shipped.filter(({ specifiers }) => specifiers.includes('re2js')).map(({ path }) => path);
    expect(users).toEqual(['src/domain/text/name-pattern.ts']);
  });

  test.each(['check', 'inventory', 'engine'])(
    'application/%s is given the reader of the engine only: it changes nothing',
    (room) => {
      const inIt = shipped.filter(({ path }) => path.startsWith(`src/application/${room}/`));
      const wrong = inIt.flatMap(({ path, code }) =>
        linesWith(code, /\bOutside\b|\bEngine(?:Writer)?\b/).map((line) => `${path}:${line}`),
      );
      expect(inIt).not.toEqual([]);
      expect(wrong).toEqual([]);
    },
  );

  test('process.env is read in config/ only, so that every option is in its table', () => {
    const wrong = shipped
      .filter(({ path }) => !path.startsWith('src/config/'))
      .flatMap(({ path, code }) =>
        linesWith(code, /\bprocess\s*\.\s*env\b|\benv\b[^}]*\}\s*=\s*process\b/).map((line) => `${path}:${line}`),
      );
    expect(wrong).toEqual([]);
  });

  test('main.ts is imported by nobody: it is where everything is known', () => {
    const wrong = modules.filter(({ path, specifiers }) =>
      specifiers.some((specifier) => resolve(path, specifier) === mainPath),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('composition/ is imported by main.ts only', () => {
    const wrong = modules.filter(
      ({ path, specifiers }) =>
        path !== mainPath &&
        !path.startsWith('src/composition/') &&
        specifiers.some((specifier) => resolve(path, specifier).startsWith('src/composition/')),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('the types of the page are checked: its configuration inherits no list of excluded files', () => {
    const { exclude } = JSON.parse(readFileSync(join(root, 'src/interfaces/dashboard/tsconfig.json'), 'utf8'));
    expect(exclude).toEqual([]);
  });

  test('files are named in kebab-case, with the extension in every relative import', () => {
    const wrongNames = files.filter(
      (path) => !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)*[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test)?\.ts$/.test(path),
    );
    expect(wrongNames).toEqual([]);
    const wrongImports = modules.flatMap(({ path, specifiers }) =>
      specifiers.filter((s) => s.startsWith('.') && !s.endsWith('.ts')).map((s) => `${path} imports ${s}`),
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

function atMost(most: number): unknown {
  return expect.toSatisfy((count: number) => count <= most, `at most ${most}`);
}

function floorOf(path: string): Floor | undefined {
  return floors.find(({ folder }) => path.startsWith(`${folder}/`));
}

function onFloor(floor: Floor): typeof shipped {
  return shipped.filter(({ path }) => floorOf(path) === floor);
}

/** A path in the project for a relative import, the specifier itself for a package. */
function resolve(from: string, specifier: string): string {
  return specifier.startsWith('.') ? join(dirname(from), specifier) : specifier;
}

function isAllowed(floor: Floor, target: string): boolean {
  if (target.startsWith(`${floor.folder}/`)) return true;
  return floor.mayImport.some((allowed) =>
    /[/:]$/.test(allowed) ? target.startsWith(allowed) : target === allowed || target.startsWith(`${allowed}/`),
  );
}

function linesWith(code: string, pattern: RegExp): number[] {
  return code.split('\n').flatMap((line, index) => (pattern.test(line) ? [index + 1] : []));
}

function isOurs(prefix: string): boolean {
  return prefix.startsWith('src/') || prefix.startsWith('sandbox/');
}
