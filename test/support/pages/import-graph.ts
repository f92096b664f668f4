import { dirname } from 'node:path';

export type ImportingModule = { readonly path: string; readonly imports: readonly string[] };

export type ImportGraph = {
  /** By folder: the number of modules in it. */
  readonly rooms: ReadonlyMap<string, number>;
  /** Circular imports of modules and folders, one per line: `a → b → a`. */
  readonly circles: readonly string[];
};

/** Folders and circular imports of modules. Ignores imports of unlisted modules. */
export function importGraphOf(modules: readonly ImportingModule[]): ImportGraph {
  const known = new Set(modules.map(({ path }) => path));
  const files = new Map(modules.map(({ path, imports }) => [path, imports.filter((target) => known.has(target))]));
  const rooms = new Map<string, string[]>();
  const sizes = new Map<string, number>();
  for (const [path, imports] of files) {
    const room = dirname(path);
    rooms.set(room, [...(rooms.get(room) ?? []), ...imports.map(dirname).filter((other) => other !== room)]);
    sizes.set(room, (sizes.get(room) ?? 0) + 1);
  }
  return { rooms: sizes, circles: [...circlesOf(files), ...circlesOf(rooms)] };
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
