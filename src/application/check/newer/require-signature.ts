import type { Verdict, CheckSubject } from '../../../domain/check/verdict.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import { describeHold } from '../../../domain/decision/hold.ts';
import type { ServiceSettings } from '../../../domain/settings/service-settings.ts';
import {
  createSignatureJudge,
  type FoundSignatures,
  type VerificationKey,
} from '../../../domain/signature/signature.ts';

type Signed = Pick<ReadOnlyOutside, 'registry' | 'verificationKeys'>;

/**
 * Holds the verdict back if the image that an update would pull needs a signature and has none. Throws the registry's
 * `ServiceError` if signatures cannot be read.
 */
export async function requireSignature(
  { registry, verificationKeys = [] }: Signed,
  subject: CheckSubject,
  verdict: Verdict,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  const names = neededKeys(subject.inForce, verificationKeys);
  if (verdict.status !== 'stale' || names === undefined) return verdict;
  const digest = verdict.insteadDigest ?? verdict.latestDigest;
  const keys = verificationKeys.filter(({ name }) => names.includes(name));
  if (keys.length === 0) return unsigned(verdict, names, 'no key of that name is given with --verify-key');
  if (digest === undefined) return unsigned(verdict, names, 'its digest is not known');
  const { newest, candidate } = verdict;
  const { reference = subject.reference } = candidate ?? {};
  const manifest = newest?.digest === digest ? newest.manifestDigest : digest;
  const digests = [...new Set([digest, manifest])];
  const judge = createSignatureJudge({ reference, digests, keys });
  for (const each of digests) {
    let part: FoundSignatures | undefined = await registry.signaturesOf(reference, each, signal);
    for (; part !== undefined; part = await part.next?.(signal))
      if (judge.signerIn(part.found) !== undefined) return verdict;
  }
  return unsigned(verdict, names, judge.why());
}

/** Like `requireSignature`, for a verdict without a registry request: no signature can be read. */
export function refuseUnproven(
  { verificationKeys = [] }: Signed,
  { inForce }: CheckSubject,
  verdict: Verdict | undefined,
): Verdict | undefined {
  const names = neededKeys(inForce, verificationKeys);
  if (verdict?.status !== 'stale' || names === undefined) return verdict;
  return unsigned(verdict, names, 'no registry may be asked for signatures, because no-pull is on');
}

/** Names of the keys of which one must have signed. Undefined: no signature is needed. */
function neededKeys(
  { verifyWith }: Pick<ServiceSettings, 'verifyWith'>,
  given: readonly VerificationKey[],
): readonly string[] | undefined {
  if (verifyWith.kind === 'keys') return verifyWith.names;
  return verifyWith.kind === 'off' || given.length === 0 ? undefined : given.map(({ name }) => name);
}

function unsigned(verdict: Verdict, keys: readonly string[], why: string): Verdict {
  const reason = describeHold({ kind: 'unsigned', keys, why }, '');
  return { ...verdict, status: 'held', hold: 'unsigned', reason: `${verdict.reason}, but ${reason}` };
}
