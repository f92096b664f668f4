import type { KnownTokens, Revocations } from '../guards/auth.ts';
import type { Sessions } from '../guards/sessions.ts';
import type { Cors } from '../guards/clients.ts';
import type { EventStreams } from '../events/event-streams.ts';
import type { HttpParts } from '../service/parts.ts';
import type { Route } from '../service/route.ts';
import { checkRoute } from './check.ts';
import { compatRoutes } from './compat.ts';
import { configRoute, eventsRoute, historyRoute, metricsRoutes } from './observe.ts';
import { containerRoutes, imagesRoute } from './containers.ts';
import { dashboardRoutes } from './dashboard.ts';
import { decisionRoutes } from './decisions.ts';
import { enginesRoutes, healthRoutes, statusRoute } from './status.ts';
import { rollbackRoute, updateRoute, type UpdateRuns } from './update.ts';
import { notesRoute } from './notes.ts';
import { sessionRoutes } from './sessions.ts';
import { registryHookRoute } from './registry-hook.ts';
import { openApiRoute, swaggerRoute } from './openapi.ts';
import type { OidcSignIns } from './oidc.ts';
import type { RegistryHints } from '../service/registry-hints.ts';

export type RouteParts = HttpParts & {
  readonly browsers: Sessions;
  /** Present with an issuer of OpenID Connect. */
  readonly openSignIns?: (parts: RouteParts) => OidcSignIns;
  readonly tokens: Readonly<Record<'api' | 'events', KnownTokens | undefined>>;
  readonly revocations: Revocations;
  readonly cors: Cors;
  readonly streams: EventStreams;
  readonly runs: UpdateRuns;
  readonly hints: RegistryHints;
  readonly readinessTimeoutMs: number;
};

/** The endpoints of the groups that are on. */
export function enabledRoutes(parts: RouteParts): readonly Route[] {
  const routes: Route[] = [
    updateRoute(parts, parts.runs),
    rollbackRoute(parts, parts.runs),
    checkRoute(parts),
    ...containerRoutes(parts, parts.streams),
    ...enginesRoutes(parts),
    historyRoute(parts),
    imagesRoute(parts),
    notesRoute(parts),
    ...decisionRoutes(parts),
    ...(parts.settings.webhookSecret === undefined ? [] : [registryHookRoute(parts, parts.hints)]),
    ...compatRoutes(parts, parts.runs),
    configRoute(parts),
    eventsRoute(parts.cors, parts.streams),
    statusRoute(parts, parts.tokens.events),
    ...metricsRoutes(parts),
    swaggerRoute(parts, () => enabled),
    openApiRoute(parts, () => enabled),
    ...healthRoutes(parts, parts.readinessTimeoutMs),
    ...dashboardRoutes(parts),
    ...sessionRoutes(parts),
  ];
  const enabled = routes.filter(({ group }) => parts.settings.groups.includes(group));
  return enabled;
}
