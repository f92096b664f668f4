import type { Decision, DecisionFault, DecisionRequest } from '../../../domain/decision/decision.ts';
import type { Digest } from '../../../domain/reference/digest.ts';

/** `isKept` false: it ends with the process that has taken it. */
export type KeptDecision = Decision & { readonly isKept: boolean };

/** Where decisions are taken: in this process, with the file that it shares with a service, or in a running service. */
export type DecisionSource = {
  /** The named containers, and what each waits for; throws `not-found` for a name that means none. */
  readonly candidates: (
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly { readonly name: string; readonly digest: Digest | undefined }[]>;
  readonly take: (request: DecisionRequest, signal: AbortSignal) => Promise<KeptDecision | DecisionFault>;
  readonly list: (signal: AbortSignal) => Promise<readonly Decision[]>;
  /** Undefined: there is none with this id. */
  readonly withdraw: (id: string, signal: AbortSignal) => Promise<KeptDecision | undefined>;
};
