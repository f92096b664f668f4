/** Probes a container at its address. No credentials are sent, and only a status is read. */
export type Prober = {
  /** Throws nothing but the signal's reason. */
  readonly ask: (question: ProbeQuestion, signal?: AbortSignal) => Promise<ProbeAnswer>;
};

export type ProbeQuestion = {
  /** An IP address, never a name. */
  readonly address: string;
  readonly port: number;
  /** Path and query of a GET request. Undefined: an accepted connection is enough. */
  readonly path?: string;
  readonly timeoutMs: number;
};

/** `silent`: no answer; `reason` is a clause that explains it. */
export type ProbeAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'silent'; readonly reason: string };
