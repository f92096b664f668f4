import type { EngineVersion } from './version.ts';

/** The API version to use. It is asked once and kept until another engine answers. */
export type Negotiation = {
  readonly current: () => Promise<EngineVersion>;
  /**
   * Reads the `Api-Version` of an answer, which is '' if a proxy has removed it. A different value means another
   * engine.
   */
  readonly notice: (engineApiVersion: string) => void;
  readonly forget: () => void;
};

/** Concurrent callers share one question. After a failure the next caller asks again. */
export function createNegotiation(ask: () => Promise<EngineVersion>): Negotiation {
  let asked: Promise<EngineVersion> | undefined;
  let known: EngineVersion | undefined;

  function forget(): void {
    asked = undefined;
    known = undefined;
  }

  async function negotiate(): Promise<EngineVersion> {
    try {
      return (known = await ask());
    } catch (error) {
      forget();
      throw error;
    }
  }

  return {
    current: () => (asked ??= negotiate()),
    notice(engineApiVersion) {
      if (known && engineApiVersion !== '' && engineApiVersion !== known.engineApiVersion) forget();
    },
    forget,
  };
}
