import type { RequestListener } from 'node:http';
import type { Clock } from '../../domain/outside.ts';
import { notFound, type Problem } from './errors.ts';
import { normalTarget, pathOf } from './request-target.ts';
import { methodsOf, type Route } from './route.ts';
import { writeProblem } from './write-problem.ts';

/**
 * Lets requests through whose path and method are known, with the path in its normal form, and answers
 * the others: 404 for the path before 405 for the method, and both before anyone is asked who they are.
 */
export function createGate(routes: readonly Route[], clock: Clock, next: RequestListener): RequestListener {
  const allowedAt = readMethods(routes);
  return (request, response) => {
    const target = normalTarget(request.url ?? '');
    const { method = '' } = request;
    const allowed = allowedAt(decoded(pathOf(target)));
    if (allowed.includes(method)) {
      request.url = target;
      next(request, response);
      return;
    }
    const problem = allowed.length === 0 ? notFound : methodNotAllowed(allowed);
    writeProblem(response, problem, clock.nowMs());
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

function methodNotAllowed(allowed: readonly string[]): Problem {
  return { status: 405, message: 'method not allowed', headers: { Allow: allowed.join(', ') } };
}

/** What a path answers to; empty for an unknown one. */
type Methods = (path: string) => readonly string[];

function readMethods(routes: readonly Route[]): Methods {
  const exact = new Map(routes.map((route) => [route.path, methodsOf(route)]));
  const prefixes = routes.filter(({ path }) => path.endsWith('*'));
  return (path) => {
    const known = exact.get(path);
    if (known !== undefined && !path.endsWith('*')) return known;
    const prefix = prefixes.find((route) => path.startsWith(route.path.slice(0, -1)));
    return prefix === undefined ? [] : methodsOf(prefix);
  };
}
