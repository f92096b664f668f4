import { methodsOf, type Route } from '../../../src/interfaces/http/service/route.ts';
import { startHttp } from './http-scene.ts';
import { createScriptedService } from './scripted-service.ts';

/** A method and a path of a route, with an address that it answers. */
export type ServedEndpoint = {
  readonly group: Route['group'];
  readonly method: string;
  readonly target: string;
  /** Of all routes with this path, in the order of the `Allow` header. */
  readonly allowed: readonly string[];
  readonly access: Route['access'];
  /** Otherwise a body is ignored. */
  readonly readsBody: boolean;
};

/** Every endpoint of the route table, with all groups enabled. */
export async function servedEndpoints(): Promise<readonly ServedEndpoint[]> {
  const { http, stop } = await startHttp(createScriptedService());
  await stop();
  return http.routes.flatMap((route) => {
    const sharing = http.routes.filter(({ path }) => path === route.path);
    const target = examples[route.path] ?? route.path.replace('*', 'none');
    return methodsOf(route).map((method) => ({
      group: route.group,
      method,
      target,
      allowed: [...new Set(sharing.flatMap(methodsOf))],
      access: route.access,
      readsBody: route.body !== undefined,
    }));
  });
}

/** Files that exist, and an address that the table itself does not answer with 404. */
const examples: Readonly<Record<string, string>> = {
  '/swagger/*': '/swagger/index.html',
  '/dashboard/*': '/dashboard/icon.svg',
};
