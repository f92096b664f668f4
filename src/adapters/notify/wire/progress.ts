/** Which parts of messages were taken, for messages that were not taken whole: the next try goes on with the others. */
export type Progress<Part> = {
  /** Sent parts of a message; the caller adds to them. */
  readonly of: (messageId: string) => Set<Part>;
  readonly forget: (messageId: string) => void;
};

export function createProgress<Part>(): Progress<Part> {
  const known = new Map<string, Set<Part>>();
  return {
    of(id) {
      const taken = known.get(id) ?? new Set<Part>();
      known.delete(id);
      known.set(id, taken);
      const [oldest] = known.keys();
      if (known.size > mostUnfinished && oldest !== undefined) known.delete(oldest);
      return taken;
    },
    forget: (id) => void known.delete(id),
  };
}

/** Most unfinished messages with known parts; further ones are sent again from the start. */
const mostUnfinished = 100;
