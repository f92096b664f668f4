/**
 * Behaviour of an image's processes, as data in place of a program. By default a process runs until it is
 * told to stop, and stops at once.
 */
export type Behaviour = {
  /** Ends by itself so long after its start; undefined: never. */
  readonly exitsAfterMs?: number;
  /** The code of that end; 0 unless told. */
  readonly exitCode?: number;
  /** From the stop signal to the end; 0 unless told. */
  readonly stopMs?: number;
  /** The code of that end; 0 unless told. */
  readonly stopExitCode?: number;
  /** Must be killed, like a process 1 without a signal handler. */
  readonly ignoresTerm?: boolean;
  /** Result of the HEALTHCHECK's probe, used only with a HEALTHCHECK; healthy at once by default. */
  readonly health?: HealthBehaviour;
  /** The engine cannot start it, in these words of its runtime. */
  readonly startError?: string;
  /** Written at every start. */
  readonly logLines?: readonly LogLine[];
  /** Results of command lines in its shell; an unlisted command is not found. */
  readonly commands?: Readonly<Record<string, CommandBehaviour>>;
  /** Where it listens; nowhere unless told. */
  readonly listens?: readonly ListenBehaviour[];
  /** There is no shell in the image. */
  readonly shellless?: boolean;
};

export type CommandBehaviour = {
  /** 0 unless told. */
  readonly exitCode?: number;
  readonly output?: string;
  /** It ends so long after its start; 0 unless told. */
  readonly tookMs?: number;
  /** It never ends by itself. */
  readonly hangs?: boolean;
};

export type ListenBehaviour = {
  readonly port: number;
  /** It begins so long after the start; 0 unless told. */
  readonly afterMs?: number;
  /** The status that it answers with over HTTP; undefined: it speaks something else, and says nothing. */
  readonly status?: number;
};

export type HealthBehaviour =
  | { readonly kind: 'healthy'; readonly afterMs?: number }
  | { readonly kind: 'unhealthy'; readonly output?: string };

export type LogLine = { readonly stream: 'stdout' | 'stderr'; readonly text: string };

/** Behaviours that tests and the demo share. */
export const behaviours = {
  good: {},
  crashesAtStart: { exitsAfterMs: 0, exitCode: 3, logLines: [{ stream: 'stderr', text: 'boom' }] },
  exitsLater: { exitsAfterMs: 2000, exitCode: 4, logLines: [{ stream: 'stderr', text: 'late' }] },
  neverHealthy: { health: { kind: 'unhealthy', output: 'connection refused' } },
  healthyLate: { health: { kind: 'healthy', afterMs: 3000 } },
  stopsSlowly: { stopMs: 2000 },
  deaf: { ignoresTerm: true },
} as const satisfies Readonly<Record<string, Behaviour>>;
