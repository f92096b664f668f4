import type { Verdict, CheckSubject } from '../../../domain/check/verdict.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { RemoteImage } from '../../../domain/outside/registry.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { ImageReference } from '../../../domain/reference/image-reference.ts';
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
  outside: Signed,
  subject: CheckSubject,
  verdict: Verdict,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  if (verdict.status !== 'stale') return verdict;
  const digest = verdict.insteadDigest ?? verdict.latestDigest;
  const { newest, candidate } = verdict;
  const { reference = subject.reference } = candidate ?? {};
  const image = newest?.digest === digest ? newest : undefined;
  const why = await whyUnsigned(outside, subject.inForce, { reference, digest, image }, signal);
  return why === undefined ? verdict : unsigned(verdict, why);
}

type ImageToPull = {
  readonly reference: ImageReference;
  readonly digest: Digest | undefined;
  /** Its description by the registry, if there is one. */
  readonly image: Pick<RemoteImage, 'manifestDigest'> | undefined;
};

/**
 * Why an image must not be pulled: it needs a signature and has none. A clause: `not signed by "team": it has no
 * signature`. Throws the registry's `ServiceError` if signatures cannot be read.
 */
export async function whyUnsigned(
  { registry, verificationKeys = [] }: Signed,
  inForce: Pick<ServiceSettings, 'verifyWith'>,
  { reference, digest, image }: ImageToPull,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const names = neededKeys(inForce, verificationKeys);
  if (names === undefined) return undefined;
  const keys = verificationKeys.filter(({ name }) => names.includes(name));
  if (keys.length === 0) return notSigned(names, 'no key of that name is given with --verify-key');
  if (digest === undefined) return notSigned(names, 'its digest is not known');
  const digests = [...new Set([digest, image?.manifestDigest ?? digest])];
  const judge = createSignatureJudge({ reference, digests, keys });
  for (const each of digests) {
    let part: FoundSignatures | undefined = await registry.signaturesOf(reference, each, signal);
    for (; part !== undefined; part = await part.next?.(signal))
      if (judge.signerIn(part.found) !== undefined) return undefined;
  }
  return notSigned(names, judge.why());
}

/** Like `requireSignature`, for a verdict without a registry request: no signature can be read. */
export function refuseUnproven(
  { verificationKeys = [] }: Signed,
  { inForce }: CheckSubject,
  verdict: Verdict | undefined,
): Verdict | undefined {
  const names = neededKeys(inForce, verificationKeys);
  if (verdict?.status !== 'stale' || names === undefined) return verdict;
  return unsigned(verdict, notSigned(names, 'no registry may be asked for signatures, because no-pull is on'));
}

/** Whether a new image needs a signature. */
export function needsSignature(
  inForce: Pick<ServiceSettings, 'verifyWith'>,
  given: Signed['verificationKeys'],
): boolean {
  return neededKeys(inForce, given ?? []) !== undefined;
}

/** Names of the keys of which one must have signed. Undefined: no signature is needed. */
function neededKeys(
  { verifyWith }: Pick<ServiceSettings, 'verifyWith'>,
  given: readonly VerificationKey[],
): readonly string[] | undefined {
  if (verifyWith.kind === 'keys') return verifyWith.names;
  return verifyWith.kind === 'off' || given.length === 0 ? undefined : given.map(({ name }) => name);
}

function notSigned(keys: readonly string[], why: string): string {
  return describeHold({ kind: 'unsigned', keys, why }, '');
}

function unsigned(verdict: Verdict, why: string): Verdict {
  return { ...verdict, status: 'held', hold: 'unsigned', reason: `${verdict.reason}, but ${why}` };
}
