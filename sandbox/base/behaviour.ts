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

export type HealthBehaviour =
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
