import type { RequestListener } from 'node:http';
import type { Clock } from '../../../domain/outside/outside.ts';
import { notFound, type Problem } from '../replies/errors.ts';
import { normalTarget, pathOf } from '../requests/request-target.ts';
import { methodsOf, type Route } from '../service/route.ts';
import { writeProblem } from '../replies/write-problem.ts';

/** The problem with a method and a normalised target; undefined when both are known. */
export type JudgeRequest = (method: string, target: string) => Problem | undefined;

/** 404 for the path comes before 405 for the method. */
export function createJudge(routes: readonly Route[]): JudgeRequest {
  const routeAt = readPaths(routes);
  return (method, target) => {
    const known = routeAt(decoded(pathOf(target)));
    if (known === undefined) return notFound;
    return known.allowed.includes(method) ? undefined : methodNotAllowed(known, method);
  };
}

/**
 * Lets requests through whose path and method are known, with the path in its normal form, and answers
 * the others before anyone is asked who they are.
 */
export function createGate(judge: JudgeRequest, clock: Clock, next: RequestListener): RequestListener {
  return (request, response) => {
    const { method = '', url = '' } = request;
    const target = normalTarget(url);
    const problem = judge(method, target);
    if (problem !== undefined) return writeProblem(response, problem, clock.nowMs());
    request.url = target;
    next(request, response);
  };
}

/** Some clients escape letters that need no escape. */
function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function methodNotAllowed({ route, allowed }: Known, method: string): Problem {
  const remedy = route.remedies?.[method];
  const message = remedy === undefined ? 'method not allowed' : `method not allowed: ${remedy}`;
  return { status: 405, message, headers: { Allow: allowed.join(', ') } };
}

type Known = { readonly route: Route; readonly allowed: readonly string[] };

function readPaths(routes: readonly Route[]): (path: string) => Known | undefined {
  const known = routes.map((route) => ({ route, allowed: methodsOf(route) }));
  const exact = new Map<string, Known>();
  for (const each of known) {
    const before = exact.get(each.route.path)?.allowed ?? [];
    exact.set(each.route.path, { ...each, allowed: [...before, ...each.allowed] });
  }
  const prefixes = known.filter(({ route }) => route.path.endsWith('*'));
  return (path) => {
    const found = path.endsWith('*') ? undefined : exact.get(path);
    return found ?? prefixes.find(({ route }) => path.startsWith(route.path.slice(0, -1)));
  };
}
