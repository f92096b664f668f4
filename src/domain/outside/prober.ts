/** Asks a container at its address whether it answers: no credentials are sent, and nothing but a status is read. */
export type Prober = {
  /** Never throws but for the signal's reason. */
  readonly ask: (question: ProbeQuestion, signal?: AbortSignal) => Promise<ProbeAnswer>;
};

export type ProbeQuestion = {
  /** An IP address, never a name. */
  readonly address: string;
  readonly port: number;
  /** Path and query of a GET request; undefined: it is enough that somebody accepts a connection. */
  readonly path?: string;
  readonly timeoutMs: number;
};

/** `silent`: nobody answered, and `reason` is a clause that says why. */
export type ProbeAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'silent'; readonly reason: string };
