import type { Cors } from './cors.ts';
import type { EventStreams } from './event-streams.ts';
import type { HttpParts } from './parts.ts';
import type { Route } from './route.ts';
import { checkRoute } from './routes/check.ts';
import { configRoute } from './routes/config.ts';
import { containerDetailsRoute } from './routes/container-details.ts';
import { containersRoute } from './routes/containers.ts';
import { eventsRoute } from './routes/events.ts';
import { healthRoutes } from './routes/health.ts';
import { historyRoute } from './routes/history.ts';
import { imagesRoute } from './routes/images.ts';
import { metricsRoute } from './routes/metrics.ts';
import { notificationMetricsRoute } from './routes/notification-metrics.ts';
import { statusRoute } from './routes/status.ts';
import { swaggerRoute } from './routes/swagger.ts';
import { updateRoute } from './routes/update.ts';
import type { UpdateRuns } from './update-runs.ts';

export type RouteParts = HttpParts & { readonly cors: Cors; readonly streams: EventStreams; readonly runs: UpdateRuns };

/** The endpoints of the groups that are switched on. */
export function enabledRoutes(parts: RouteParts): readonly Route[] {
  const routes: Route[] = [
    updateRoute(parts, parts.runs),
    checkRoute(parts),
    containersRoute(parts),
    containerDetailsRoute(parts),
    historyRoute(parts),
    imagesRoute(parts),
    configRoute(parts),
    eventsRoute(parts.cors, parts.streams),
    statusRoute(parts),
    metricsRoute(parts),
    notificationMetricsRoute(parts),
    swaggerRoute(parts, () => enabled),
    ...healthRoutes(parts),
  ];
  const enabled = routes.filter(({ group }) => parts.settings.groups.includes(group));
  return enabled;
}
