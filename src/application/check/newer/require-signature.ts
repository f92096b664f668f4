import type { Verdict, CheckSubject } from '../../../domain/check/verdict.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { RemoteImage } from '../../../domain/outside/registry.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { ImageReference } from '../../../domain/reference/image-reference.ts';
import type { ServiceSettings } from '../../../domain/settings/service-settings.ts';
import { describeHold } from '../../../domain/decision/hold.ts';
import {
  createSignatureJudge,
  type FoundSignatures,
  type SignatureQuestion,
  type VerificationKey,
} from '../../../domain/signature/signature.ts';

type Signed = Pick<ReadOnlyOutside, 'registry' | 'verificationKeys'>;

/** The settings that say which signature a new image needs. */
type SignatureSettings = Pick<ServiceSettings, 'verifyWith' | 'verifyIdentities' | 'verifyAnnotations'>;

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
  inForce: SignatureSettings,
  { reference, digest, image }: ImageToPull,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const needed = neededSignature(inForce, verificationKeys);
  if (needed === undefined) return undefined;
  const { names, fault, annotations, identities, remark } = needed;
  if (fault !== undefined) return notSigned(names, fault);
  const keys = verificationKeys.filter(({ name }) => names.includes(name));
  if (keys.length === 0) return notSigned(names, 'no key of that name is given with --verify-key');
  if (digest === undefined) return notSigned(names, 'its digest is not known');
  const digests = [...new Set([digest, image?.manifestDigest ?? digest])];
  const judge = createSignatureJudge({ reference, digests, keys, annotations, identities });
  for (const each of digests) {
    let part: FoundSignatures | undefined = await registry.signaturesOf(reference, each, signal);
    for (; part !== undefined; part = await part.next?.(signal))
      if (judge.signerIn(part.found) !== undefined) return undefined;
  }
  return notSigned(names, judge.why() + remark);
}

/** Like `requireSignature`, for a verdict without a registry request: no signature can be read. */
export function refuseUnproven(
  { verificationKeys = [] }: Signed,
  { inForce }: CheckSubject,
  verdict: Verdict | undefined,
): Verdict | undefined {
  const needed = neededSignature(inForce, verificationKeys);
  if (verdict?.status !== 'stale' || needed === undefined) return verdict;
  const why = needed.fault ?? 'no registry may be asked for signatures, because no-pull is on';
  return unsigned(verdict, notSigned(needed.names, why));
}

/** Whether a new image needs a signature. */
export function needsSignature(inForce: SignatureSettings, given: Signed['verificationKeys']): boolean {
  return neededSignature(inForce, given ?? []) !== undefined;
}

type NeededSignature = Pick<SignatureQuestion, 'annotations' | 'identities'> & {
  /** Of the keys of which one must have signed. */
  readonly names: readonly string[];
  /** Why no signature can be enough. */
  readonly fault: string | undefined;
  /** Follows the reason for holding an image. */
  readonly remark: string;
};

/**
 * Undefined: no signature is needed. A label that asks for a signature is obeyed also if no key is given, and one that
 * cannot be read lets nothing pass: its owner intended a restriction.
 */
function neededSignature(
  { verifyWith, verifyAnnotations, verifyIdentities }: SignatureSettings,
  given: readonly VerificationKey[],
): NeededSignature | undefined {
  const isAsked = verifyAnnotations.kind === 'unreadable' || verifyAnnotations.isAsked === true;
  if (verifyWith.kind === 'off' && !isAsked) return undefined;
  const annotations = verifyAnnotations.kind === 'unreadable' ? [] : verifyAnnotations.required;
  const isNeeded = verifyWith.kind !== 'any' || verifyWith.isAsked === true || isAsked || annotations.length > 0;
  if (given.length === 0 && !isNeeded) return undefined;
  const names = verifyWith.kind === 'keys' ? verifyWith.names : given.map(({ name }) => name);
  const allowed = verifyIdentities.kind === 'unreadable' ? [] : verifyIdentities.allowed;
  const fault =
    faultOf('verify', verifyWith) ??
    faultOf('verify-annotation', verifyAnnotations) ??
    (names.length === 0 ? 'no key is given with --verify-key' : undefined);
  const unread = faultOf('verify-identity', verifyIdentities);
  return { names, annotations, identities: allowed, fault, remark: unread === undefined ? '' : `; ${unread}` };
}

function faultOf(label: string, rule: { readonly kind: string; readonly fault?: string }): string | undefined {
  return rule.kind === 'unreadable' ? `the label upkeep.${label} cannot be read: ${rule.fault ?? ''}` : undefined;
}

function notSigned(keys: readonly string[], why: string): string {
  return describeHold({ kind: 'unsigned', keys, why }, '');
}

function unsigned(verdict: Verdict, why: string): Verdict {
  return { ...verdict, status: 'held', hold: 'unsigned', reason: `${verdict.reason}, but ${why}` };
}
