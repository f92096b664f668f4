import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { TargetStatus } from '../../../domain/notification/status.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';
import type { Configuration } from '../../json/configuration.ts';
import type { Service } from './service.ts';

/** All that the HTTP interface is made from. */
export type HttpParts = {
  readonly settings: HttpSettings;
  readonly service: Service;
  readonly clock: Clock;
  readonly log: Log;
  /** Shown in the description. */
  readonly version: string;
  /** Content of `GET /v1/config`. */
  readonly configuration: () => Configuration;
  /** Options of every run, as in `scan_started`. */
  readonly runOptions: RunOptions;
  /** The text of `GET /v1/metrics`. */
  readonly metrics: () => Promise<string>;
  /** How those do who are notified; undefined where nobody is. */
  readonly notifications?: () => readonly TargetStatus[];
  /** The folder with the files of the documentation page. */
  readonly assetsFolder: string;
  /** The folder with the files of the dashboard, as scripts/page.mjs writes them. */
  readonly dashboardFolder: string;
  readonly limits?: Partial<HttpLimits>;
};

/** Bounds that are no options. */
export type HttpLimits = {
  /** Open at once, whatever they do. */
  readonly mostConnections: number;
  readonly mostStreams: number;
  /** Bytes that one stream's reader has not yet taken. */
  readonly streamBufferBytes: number;
  readonly heartbeatMs: number;
  /** For the engine's sign of life. */
  readonly readinessTimeoutMs: number;
  /** How long running requests may go on once the service is stopping. */
  readonly graceMs: number;
};

export type RunOptions = {
  readonly cleanup: boolean;
  readonly noRestart: boolean;
  readonly monitorOnly: boolean;
  readonly lifecycleHooks: boolean;
  readonly rollingRestart: boolean;
  readonly labelPrecedence: boolean;
  readonly noPull: boolean;
  readonly runOnce: boolean;
  readonly useComposeDependsOn: boolean;
  readonly skipSelfUpdate: boolean;
  readonly reviveStopped: boolean;
};
