import { putNewest } from '../../../domain/text/plain-data.ts';

/** The accepted parts of messages that were not accepted as a whole. The next attempt sends the other parts. */
export type AcceptedParts<Part> = {
  /** The delivered parts of a message; callers add to it. */
  readonly of: (messageId: string) => Set<Part>;
  readonly forget: (messageId: string) => void;
};

export function createAcceptedParts<Part>(): AcceptedParts<Part> {
  const known = new Map<string, Set<Part>>();
  return {
    of(id) {
      const taken = known.get(id) ?? new Set<Part>();
      putNewest(known, id, taken, mostUnfinished);
      return taken;
    },
    forget: (id) => void known.delete(id),
  };
}

/** Beyond this number, messages are sent again from the start. */
const mostUnfinished = 100;
