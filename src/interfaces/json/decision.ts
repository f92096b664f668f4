import type { Decision } from '../../domain/decision/decisions.ts';
import { known } from './known.ts';
import { toTimestamp } from './timestamps.ts';

/** A decision of a person about one new version. */
export function decisionEntry({ id, kind, container, engine, digest, tag, by, atMs, untilMs }: Decision) {
  return {
    id,
    container,
    decision: kind,
    digest,
    ...known(tag, (text) => ({ tag: text })),
    ...known(engine, (name) => ({ engine: name })),
    by,
    at: toTimestamp(atMs),
    ...known(untilMs, (ms) => ({ until: toTimestamp(ms) })),
  };
}
