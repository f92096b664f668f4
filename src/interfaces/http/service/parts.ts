import type { Issuer } from '../../../domain/access/rights.ts';
import type { Application } from '../../../application/application.ts';
import type { Clock, Log, SharedRecords } from '../../../domain/outside/outside.ts';
import type { TargetStatus } from '../../../domain/notification/message.ts';
import type { HttpSettings, SessionChange } from '../../../domain/settings/http-settings.ts';
import type { ServiceSettings } from '../../../domain/settings/effective-settings.ts';
import type { Configuration } from '../../json/entries.ts';

/** The parts of the HTTP API. */
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
  /** The state of notification targets; undefined without targets. */
  readonly notifications?: () => readonly TargetStatus[];
  /** The folder with the files of the documentation page. */
  readonly assetsFolder: string;
  /** The folder with the files of the dashboard, as scripts/page.mjs writes them. */
  readonly dashboardFolder: string;
  /** Present with an issuer of OpenID Connect. */
  readonly issuer?: Issuer;
  /** Absent: sessions of browsers end with the process, and there is no password. */
  readonly sessions?: SessionStorage;
  readonly limits?: Partial<HttpLimits>;
};

/** How people sign in to the page, and how they stay signed in. */
export type SessionStorage = {
  readonly password:
    | {
        /** Text that changes with the password; undefined without one. */
        readonly verifier: () => string | undefined;
        readonly matches: (given: string) => Promise<boolean>;
      }
    | undefined;
  /** The stored changes, and where to store further ones. Undefined: sessions end with the process. */
  readonly kept:
    | { readonly changes: readonly SessionChange[]; readonly store: Pick<SharedRecords<SessionChange>, 'append'> }
    | undefined;
};

/** Bounds without an option. */
export type HttpLimits = {
  /** Open at once, idle or not. */
  readonly maxConnections: number;
  readonly maxStreams: number;
  /** Bytes that the reader of one stream has not yet received. */
  readonly streamBufferBytes: number;
  readonly heartbeatMs: number;
  /** For the engine's answer to a ping. */
  readonly readinessTimeoutMs: number;
  /** The time for running requests during a stop. */
  readonly graceMs: number;
};

export type RunOptions = Pick<
  ServiceSettings,
  | 'cleanup'
  | 'noRestart'
  | 'monitorOnly'
  | 'lifecycleHooks'
  | 'rollingRestart'
  | 'labelTakesPrecedence'
  | 'noPull'
  | 'useComposeDependsOn'
  | 'reviveStopped'
> & { readonly runOnce: boolean; readonly skipSelfUpdate: boolean };

/** Part of the application that the HTTP interface uses. */
export type Service = Pick<
  Application,
  | 'check'
  | 'plan'
  | 'update'
  | 'rollBack'
  | 'decisions'
  | 'containerNames'
  | 'notesOf'
  | 'inventory'
  | 'unwatched'
  | 'engineVersion'
  | 'inventoryFailure'
  | 'missingPermissions'
  | 'history'
  | 'refreshHistory'
  | 'status'
  | 'engines'
  | 'eventLog'
  | 'ready'
>;

export type HistoryEntry = ReturnType<Service['history']>[number];
export type EventLog = Service['eventLog'];
export type LoggedEvent = ReturnType<EventLog['since']>[number];
export type StepEvent = Parameters<Parameters<EventLog['subscribeToSteps']>[0]>[0];
