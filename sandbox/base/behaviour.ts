/**
 * Behaviour of an image's processes, as data instead of a program. By default a process runs until the stop signal, and
 * then exits at once.
 */
export type Behaviour = {
  /** Time from its start to its exit; undefined: it runs until a stop. */
  readonly exitsAfterMs?: number;
  /** Exit code of that exit; default 0. */
  readonly exitCode?: number;
  /** Time from the stop signal to the exit; default 0. */
  readonly stopMs?: number;
  /** Exit code after the stop signal; default 0. */
  readonly stopExitCode?: number;
  /** Ignores the stop signal and must be killed, like a process 1 without a signal handler. */
  readonly ignoresTerm?: boolean;
  /** Result of the HEALTHCHECK's probe, used only with a HEALTHCHECK; healthy at once by default. */
  readonly health?: HealthBehaviour;
  /** The engine cannot start it; the error text of its runtime. */
  readonly startError?: string;
  /** Log lines, written at every start. */
  readonly logLines?: readonly string[];
  /** Files that it writes at every start, by path. */
  readonly writes?: Readonly<Record<string, string>>;
  /** A word that it adds to the markers of its writable volumes at every start. */
  readonly marksVolumes?: string;
  /** Results of command lines in its shell. A command that is not listed is not found. */
  readonly commands?: Readonly<Record<string, CommandBehaviour>>;
  /** Ports on which it listens; default none. */
  readonly listens?: readonly ListenBehaviour[];
  /** The image has no shell. */
  readonly shellless?: boolean;
};

export type CommandBehaviour = {
  /** Default 0. */
  readonly exitCode?: number;
  readonly output?: string;
  /** Time from its start to its exit; default 0. */
  readonly tookMs?: number;
  /** It never exits on its own. */
  readonly hangs?: boolean;
};

export type ListenBehaviour = {
  readonly port: number;
  /** Time from the start until it listens; default 0. */
  readonly afterMs?: number;
  /** The HTTP status of its replies; undefined: it accepts connections, but sends nothing. */
  readonly status?: number;
};

type HealthBehaviour =
  | { readonly kind: 'healthy'; readonly afterMs?: number }
  | { readonly kind: 'unhealthy'; readonly output?: string };

/** Behaviours that tests and the demo share. */
export const behaviours = {
  good: {},
  crashesAtStart: { exitsAfterMs: 0, exitCode: 3, logLines: ['boom'] },
  exitsLater: { exitsAfterMs: 2000, exitCode: 4, logLines: ['late'] },
  neverHealthy: { health: { kind: 'unhealthy', output: 'connection refused' } },
  healthyLate: { health: { kind: 'healthy', afterMs: 3000 } },
  stopsSlowly: { stopMs: 2000 },
  deaf: { ignoresTerm: true },
} as const satisfies Readonly<Record<string, Behaviour>>;

/**
 * Differences between versions of Docker that an updater can see. Both versions were measured by the contracts in
 * `test/contract/`.
 */
export type EngineProfile = {
  readonly version: string;
  readonly apiVersion: string;
  /** Since API 1.42 the caller may choose the signal of a stop: https://docs.docker.com/reference/api/engine/version-history/#v142-api-changes */
  readonly stopTakesSignal: boolean;
  /**
   * Since API 1.44 a container may have several endpoints from its creation on, each with a hardware
   * address of its own, and its own names are in `DNSNames` instead of the aliases:
   * https://docs.docker.com/reference/api/engine/version-history/#v144-api-changes
   */
  readonly hasEndpointsOfItsOwn: boolean;
  /** An alias on the default bridge is refused at create, not only at start. */
  readonly refusesBridgeAliasAtCreate: boolean;
  /** Stored values of settings that are missing in the request. */
  readonly notGiven: { readonly restartPolicy: '' | 'no'; readonly networkMode: 'default' | 'bridge' };
  /** Without host settings the runtime is stored only at the first start. */
  readonly notesRuntimeLate: boolean;
  /** A start creates the process before it sets up the network. This changes which error comes first. */
  readonly setsUpNetworkLast: boolean;
  /** Status of a refused start if the container with the shared network is missing. */
  readonly statusOfMissingNeighbour: 404 | 500;
  /** Status of a refused start if the container with the shared memory or processes does not run. */
  readonly statusOfIdleNeighbour: 409 | 500;
  /** Between two restarts by its policy a container has no network, and cannot be renamed. */
  readonly refusesRenameBetweenTries: boolean;
  /** With live-restore, a running `--rm` container is deleted at boot: https://github.com/moby/moby/issues/46308 */
  readonly liveRestoreDeletesAutoRemove: boolean;
  /** Fields of `HostConfig` in addition to those of every version; other fields are dropped silently. */
  readonly hostConfig: Readonly<Record<string, unknown>>;
  readonly optionalHostConfig: readonly string[];
};

export type EngineVersion = '20.10' | '28';

/** Version 28 has `/proc/interrupts` between these two parts. */
const maskedFirst: readonly string[] = ['/proc/asound', '/proc/acpi'];
const maskedThen: readonly string[] = [
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
];

export const profiles: Readonly<Record<EngineVersion, EngineProfile>> = {
  '20.10': {
    version: '20.10.24',
    apiVersion: '1.41',
    stopTakesSignal: false,
    hasEndpointsOfItsOwn: false,
    refusesBridgeAliasAtCreate: false,
    notGiven: { restartPolicy: '', networkMode: 'default' },
    notesRuntimeLate: true,
    setsUpNetworkLast: false,
    statusOfMissingNeighbour: 404,
    statusOfIdleNeighbour: 500,
    refusesRenameBetweenTries: true,
    liveRestoreDeletesAutoRemove: true,
    hostConfig: { KernelMemory: 0, KernelMemoryTCP: 0, MaskedPaths: [...maskedFirst, ...maskedThen] },
    optionalHostConfig: [],
  },
  '28': {
    version: '28.5.2',
    apiVersion: '1.51',
    stopTakesSignal: true,
    hasEndpointsOfItsOwn: true,
    refusesBridgeAliasAtCreate: true,
    notGiven: { restartPolicy: 'no', networkMode: 'bridge' },
    notesRuntimeLate: false,
    setsUpNetworkLast: true,
    statusOfMissingNeighbour: 500,
    statusOfIdleNeighbour: 409,
    refusesRenameBetweenTries: false,
    liveRestoreDeletesAutoRemove: false,
    hostConfig: { MaskedPaths: [...maskedFirst, '/proc/interrupts', ...maskedThen, '/sys/devices/virtual/powercap'] },
    optionalHostConfig: ['Annotations'],
  },
};
