import { sentence } from '../text/words.ts';

/**
 * A call of the engine that an update makes, and that a proxy in front of the engine or a plugin of it may forbid. Its name
 * is the step of an update.
 */
export type PermissionName = keyof typeof permissions;

type Permission = {
  /** As in docs/engines.md: without version and ids. */
  readonly call: `${'GET' | 'POST' | 'DELETE'} /${string}`;
  /**
   * `always`: without it no update begins. `pull`: the same, if an image must be pulled. `no`: an update works without
   * it, and `without` completes "Until then".
   */
  readonly needed: 'always' | 'pull' | 'no';
  readonly without?: string;
  /**
   * Variables of the proxies of Tecnativa and LinuxServer, without `=1`. Each release of them knows only some: newer
   * ones of Tecnativa have DELETE and ALLOW_LOGS, older ones of LinuxServer need ALLOW_START and ALLOW_STOP.
   */
  readonly variables: readonly string[];
};

/** In the order of an update. */
export const permissions = {
  containers: { call: 'GET /containers/json', needed: 'always', variables: ['CONTAINERS'] },
  inspect: { call: 'GET /containers/{id}/json', needed: 'always', variables: ['CONTAINERS'] },
  images: { call: 'GET /images/json', needed: 'always', variables: ['IMAGES'] },
  inspectImage: { call: 'GET /images/{name}/json', needed: 'always', variables: ['IMAGES'] },
  networks: { call: 'GET /networks', needed: 'always', variables: ['NETWORKS'] },
  pull: { call: 'POST /images/create', needed: 'pull', variables: ['IMAGES', 'POST'] },
  tag: { call: 'POST /images/{name}/tag', needed: 'always', variables: ['IMAGES', 'POST'] },
  create: { call: 'POST /containers/create', needed: 'always', variables: ['CONTAINERS', 'POST'] },
  connect: { call: 'POST /networks/{id}/connect', needed: 'always', variables: ['NETWORKS', 'POST'] },
  rename: { call: 'POST /containers/{id}/rename', needed: 'always', variables: ['CONTAINERS', 'POST'] },
  policy: { call: 'POST /containers/{id}/update', needed: 'always', variables: ['CONTAINERS', 'POST'] },
  stop: { call: 'POST /containers/{id}/stop', needed: 'always', variables: ['CONTAINERS', 'POST', 'ALLOW_STOP'] },
  start: { call: 'POST /containers/{id}/start', needed: 'always', variables: ['CONTAINERS', 'POST', 'ALLOW_START'] },
  wait: {
    call: 'POST /containers/{id}/wait',
    needed: 'no',
    without: 'the end of a container is noticed later',
    variables: ['CONTAINERS', 'POST'],
  },
  logs: {
    call: 'GET /containers/{id}/logs',
    needed: 'no',
    without: 'the last lines of a failed version are not shown',
    variables: ['CONTAINERS', 'ALLOW_LOGS'],
  },
  info: {
    call: 'GET /info',
    needed: 'no',
    without: 'mirrors and insecure registries of the engine are not known',
    variables: ['INFO'],
  },
  events: {
    call: 'GET /events',
    needed: 'no',
    without: 'changes are noticed up to a minute later',
    variables: ['EVENTS'],
  },
  remove: {
    call: 'DELETE /containers/{id}',
    needed: 'no',
    without: 'each update leaves its old container behind, stopped',
    variables: ['CONTAINERS', 'POST', 'DELETE'],
  },
  untag: {
    call: 'DELETE /images/{name}',
    needed: 'no',
    without: 'updates are not marked, and old images stay',
    variables: ['IMAGES', 'POST', 'DELETE'],
  },
} as const satisfies Readonly<Record<string, Permission>>;

export const permissionNames = Object.keys(permissions) as readonly PermissionName[];

/** The forbidden ones that prevent an update. `pulls`: whether it pulls an image. */
export function preventing(
  forbidden: readonly PermissionName[],
  { pulls }: { readonly pulls: boolean },
): readonly PermissionName[] {
  return forbidden.filter((name) => {
    const { needed } = permissions[name];
    return needed === 'always' || (needed === 'pull' && pulls);
  });
}

/** `a proxy in front of the engine forbids POST /containers/{id}/start and GET /networks`; a clause. */
export function describeForbidden(forbidden: readonly PermissionName[]): string {
  const calls = forbidden.map((name) => permissions[name].call);
  const [last] = calls.slice(-1);
  const list = calls.length > 1 ? `${calls.slice(0, -1).join(', ')} and ${last}` : last;
  return `a proxy in front of the engine forbids ${list}`;
}

/** The settings of the usual proxies that permit the calls; a sentence without a period. */
export function howToPermit(forbidden: readonly PermissionName[]): string {
  const variables = [...new Set(forbidden.flatMap((name) => permissions[name].variables))];
  const methods = [...new Set(forbidden.map((name) => permissions[name].call.split(' ', 1)[0] ?? ''))];
  const flags = methods.flatMap((method) => wollomaticFlags[method] ?? []);
  return (
    `Permit them: ${variables.map((name) => `${name}=1`).join(' ')} in the proxy of Tecnativa or LinuxServer, ` +
    `${flags.join(' ')} in that of wollomatic; docs/engines.md has all calls`
  );
}

/** The whole pattern of a method, because the proxy has one for each. */
const wollomaticFlags: Readonly<Record<string, string>> = {
  GET: String.raw`'-allowGET=(/v1\..+)?/(_ping|version|info|events|networks|(containers|images)/.+)'`,
  POST: String.raw`'-allowPOST=/v1\..+/(containers|images|networks)/.+'`,
  DELETE: String.raw`'-allowDELETE=/v1\..+/(containers|images)/.+'`,
};

/** The message to a person about all forbidden calls at once: sentences without a final period. */
export type MissingPermissions = {
  readonly message: string;
  readonly remedy: string;
  /** Without them no update can begin; otherwise updates work in part. */
  readonly preventsUpdates: boolean;
};

/** Undefined if none is forbidden. */
export function missingPermissions(forbidden: readonly PermissionName[]): MissingPermissions | undefined {
  if (forbidden.length === 0) return undefined;
  const missing = preventing(forbidden, { pulls: true });
  const preventsUpdates = missing.length > 0;
  const message = preventsUpdates
    ? `Updates are not possible: ${describeForbidden(missing)}`
    : `Updates work in part: ${describeForbidden(forbidden)}. ${describeWithout(forbidden)}`;
  return { message, remedy: howToPermit(forbidden), preventsUpdates };
}

/** The consequences of the forbidden calls that an update works without; empty if there are none. */
export function describeWithout(forbidden: readonly PermissionName[]): string {
  const all = forbidden.flatMap((name) => ('without' in permissions[name] ? [permissions[name].without] : []));
  return all.length === 0 ? '' : sentence(`until then, ${all.join(', and ')}`);
}
