import type { RequestListener } from 'node:http';
import type { Clock } from '../../domain/outside.ts';
import { notFound, type Problem } from './errors.ts';
import { normalTarget, pathOf } from './request-target.ts';
import { methodsOf, type Route } from './route.ts';
import { writeProblem } from './write-problem.ts';

/** What is wrong with a method and a target in its normal form; undefined when both are known. */
export type JudgeRequest = (method: string, target: string) => Problem | undefined;

/** 404 for the path comes before 405 for the method. */
export function createJudge(routes: readonly Route[]): JudgeRequest {
  const allowedAt = readMethods(routes);
  return (method, target) => {
    const allowed = allowedAt(decoded(pathOf(target)));
    if (allowed.includes(method)) return undefined;
    return allowed.length === 0 ? notFound : methodNotAllowed(allowed);
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
