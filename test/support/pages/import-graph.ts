import { dirname } from 'node:path';

/** `imports` are the paths of all imported modules, `loads` those of which more than types are imported. */
export type ImportingModule = {
  readonly path: string;
  readonly imports: readonly string[];
  readonly loads: readonly string[];
};

export type ImportGraph = {
  /**
   * Circular imports, one per line: `a → b → a`. Between folders types count; between the files of a folder they do not,
   * because neighbours may share types.
   */
  readonly circles: readonly string[];
  /** By module: the modules that import it. */
  readonly importers: ReadonlyMap<string, ReadonlySet<string>>;
};

/** Circular imports of modules, and who imports whom. Ignores imports of unlisted modules. */
export function importGraphOf(modules: readonly ImportingModule[]): ImportGraph {
  const known = new Set(modules.map(({ path }) => path));
  const files = new Map(modules.map(({ path, loads }) => [path, loads.filter((target) => known.has(target))]));
  const folders = new Map<string, string[]>();
  const importers = new Map(modules.map(({ path }) => [path, new Set<string>()]));
  for (const { path, imports } of modules) {
    const folder = dirname(path);
    const ours = imports.filter((target) => known.has(target));
    folders.set(folder, [...(folders.get(folder) ?? []), ...ours.map(dirname).filter((other) => other !== folder)]);
    for (const target of ours) importers.get(target)?.add(path);
  }
  return { circles: [...circlesOf(files), ...circlesOf(folders)], importers };
}

/** For each node in a circle the shortest circle through it; equal circles are listed once. */
function circlesOf(arrows: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const circles = new Map<string, string>();
  for (const start of arrows.keys()) {
    const way = wayBack(arrows, start);
    if (way === undefined) continue;
    const key = way.toSorted().join();
    if (!circles.has(key)) circles.set(key, [...way, start].join(' → '));
  }
  return [...circles.values()];
}

function wayBack(arrows: ReadonlyMap<string, readonly string[]>, start: string): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[start]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way; way = ways.shift()) {
    for (const next of arrows.get(way.at(-1) ?? start) ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}
