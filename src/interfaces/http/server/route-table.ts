import { notFound, type Problem } from '../replies/errors.ts';
import { normalTarget, pathOf, queryOf } from '../requests/query.ts';
import { methodsOf, type Route } from '../service/route.ts';

/** `rest`: the path after the prefix of a route that ends with `*`, decoded; empty for other routes. */
export type Found = { readonly kind: 'route'; readonly route: Route; readonly rest: string };

/** `remedy`: for a refused method of a known path, if its route has one. */
export type Refused = {
  readonly kind: 'problem';
  readonly problem: Problem;
  readonly remedy?: { readonly path: string; readonly text: string };
};

/** Finds the route of a method and a request's target; the problem is 404 for the path, else 405 for the method. */
export type RouteTable = { readonly find: (method: string, target: string) => Found | Refused };

/** `basePath`: see `HttpSettings`. */
export function createRouteTable(routes: readonly Route[], basePath: string): RouteTable {
  const exact = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const entry = exact.get(route.path) ?? new Map<string, Route>();
    for (const method of methodsOf(route)) entry.set(method, route);
    exact.set(route.path, entry);
  }
  const prefixes = [...exact].flatMap(([path, entry]) =>
    path.endsWith('*') ? { entry, prefix: path.slice(0, -1) } : [],
  );

  function at(path: string): { readonly entry: Entry; readonly rest: string } | undefined {
    const entry = path.endsWith('*') ? undefined : exact.get(path);
    if (entry !== undefined) return { entry, rest: '' };
    const under = prefixes.find(({ prefix }) => path.startsWith(prefix));
    return under && { entry: under.entry, rest: path.slice(under.prefix.length) };
  }

  return {
    find(method, target) {
      const asked = pathOf(target);
      if (basePath !== '' && asked === basePath) return toFolder(basePath, queryOf(target));
      const own = asked.startsWith(`${basePath}/`) ? asked.slice(basePath.length) : asked;
      const found = at(decoded(normalTarget(own)));
      if (found === undefined) return { kind: 'problem', problem: notFound };
      const { entry, rest } = found;
      const route = entry.get(method);
      return route === undefined ? methodNotAllowed(entry, method) : { kind: 'route', route, rest };
    },
  };
}

/** The page names its files relative to its folder. */
function toFolder(basePath: string, query: string): Refused {
  const location = `${basePath}/${query === '' ? '' : `?${query}`}`;
  const problem = { status: 308, message: 'the page has a slash at its end', headers: { Location: location } };
  return { kind: 'problem', problem };
}

/** The routes of one path, by method. */
type Entry = ReadonlyMap<string, Route>;

/** Some clients escape letters that need no escape. */
function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function methodNotAllowed(entry: Entry, method: string): Refused {
  const [remedy] = [...entry.values()].flatMap(({ path, remedies }) => {
    const text = remedies?.[method];
    return text === undefined ? [] : { path, text };
  });
  const message = remedy === undefined ? 'method not allowed' : `method not allowed: ${remedy.text}`;
  const headers = { Allow: [...entry.keys()].join(', ') };
  return { kind: 'problem', problem: { status: 405, message, headers }, ...(remedy !== undefined && { remedy }) };
}
