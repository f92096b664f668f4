import type { Decision, DecisionFault, DecisionRequest } from '../../../domain/decision/decisions.ts';
import type { Digest } from '../../../domain/reference/digest.ts';

/** `isKept` false: the decision ends with the process that has taken it. */
export type KeptDecision = Decision & { readonly isKept: boolean };

/** A container that was named, and the version that it waits for. */
export type DecisionCandidate = {
  readonly name: string;
  /** Present where there are several. */
  readonly engine?: string;
  readonly digest: Digest | undefined;
};

/** `engines`: only of these; none: of all. */
export type CandidateQuery = { readonly names: readonly string[]; readonly engines: readonly string[] };

/** Where decisions are taken: in this process, with the file that it shares with a service, or in a running service. */
export type DecisionSource = {
  /** The named containers, and what each waits for; throws `not-found` for a name that means none. */
  readonly candidates: (query: CandidateQuery, signal: AbortSignal) => Promise<readonly DecisionCandidate[]>;
  readonly take: (request: DecisionRequest, signal: AbortSignal) => Promise<KeptDecision | DecisionFault>;
  /** Of these engines; without a name of all. */
  readonly list: (engines: readonly string[], signal: AbortSignal) => Promise<readonly Decision[]>;
  /** Undefined: there is none with this id. */
  readonly withdraw: (id: string, signal: AbortSignal) => Promise<KeptDecision | undefined>;
};
