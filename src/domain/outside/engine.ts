import type { EngineReader } from './engine-reader.ts';
import type { EngineWriter } from './engine-writer.ts';

/** A container engine: reading and changing. */
export type Engine = EngineReader &
  EngineWriter & {
    /** Ends connections and event streams. */
    readonly close: () => Promise<void>;
  };
