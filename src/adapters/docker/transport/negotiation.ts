import type { EngineVersion } from './version.ts';

/** The API version to speak, asked once and kept until the engine's identity changes. */
export type Negotiation = {
  readonly current: () => Promise<EngineVersion>;
  /** Takes the `Api-Version` of an answer, '' where a proxy has removed it: another one than before means another engine. */
  readonly notice: (engineApiVersion: string) => void;
  readonly forget: () => void;
};

/** Any number of callers at once cost one question; a failed one is asked again by the next caller. */
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
