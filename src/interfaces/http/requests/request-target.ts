/** The path of a request's target as written: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
export function pathOf(target: string): string {
  const local = localTarget(target);
  const query = local.search(/[?#]/);
  return query === -1 ? local : local.slice(0, query);
}

/** The query of a request's target, without its `?`. */
export function queryOf(target: string): string {
  const [local = ''] = localTarget(target).split('#', 1);
  const begin = local.indexOf('?');
  return begin === -1 ? '' : local.slice(begin + 1);
}

/** The target without scheme and host, and under `/v1/` without a trailing slash. */
export function normalTarget(target: string): string {
  const local = localTarget(target);
  const path = pathOf(local);
  const isTolerated = path.startsWith('/v1/') && path.length > '/v1/'.length && path.endsWith('/');
  return isTolerated ? path.slice(0, -1) + local.slice(path.length) : local;
}

function localTarget(target: string): string {
  if (target.startsWith('/')) return target;
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}
