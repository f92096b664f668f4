import type { Verdict, CheckSubject } from '../../domain/check/verdict.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { RemoteImage, VerifiedImage } from '../../domain/outside/registry.ts';
import type { Digest, ImageReference } from '../../domain/image/image-reference.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { describeHold } from '../../domain/decision/decisions.ts';
import {
  createSignatureJudge,
  type FoundSignatures,
  type SignatureQuestion,
  type VerificationKey,
} from '../../domain/image/signature.ts';

type Signed = Pick<ReadOnlyOutside, 'registry' | 'verificationKeys'>;

/** The settings that say which signature a new image needs. */
type SignatureSettings = Pick<ServiceSettings, 'verifyWith' | 'verifyIdentities' | 'verifyAnnotations'>;

/**
 * Holds the verdict back if the image that an update would pull needs a signature and has none. Otherwise the verdict
 * names the image that must run. Throws the registry's `ServiceError` if signatures cannot be read.
 */
export async function requireSignature(
  outside: Signed,
  subject: CheckSubject,
  verdict: Verdict,
  signal: AbortSignal | undefined,
): Promise<Verdict> {
  if (verdict.status !== 'stale') return verdict;
  const digest = verdict.insteadDigest ?? verdict.latestDigest;
  const { reference = subject.reference } = verdict.candidate ?? {};
  const image = [verdict.instead, verdict.newest].find((one) => one !== undefined && one.digest === digest);
  const judged = await verifyImage(outside, subject.effective, { reference, digest, image }, signal);
  if (judged.kind === 'unsigned') return unsigned(verdict, judged.why);
  return judged.kind === 'signed' ? { ...verdict, verified: judged.verified } : verdict;
}

/** `why` is a clause: `not signed by "team": it has no signature`. */
type Judged =
  | { readonly kind: 'unneeded' }
  | { readonly kind: 'unsigned'; readonly why: string }
  | { readonly kind: 'signed'; readonly verified: VerifiedImage };

/**
 * Whether an image may be pulled, as far as it needs a signature: of its index, or of the image itself. Throws the
 * registry's `ServiceError` if signatures cannot be read.
 */
export async function verifyImage(
  outside: Signed,
  effective: SignatureSettings,
  {
    reference,
    digest,
    image,
  }: {
    readonly reference: ImageReference;
    readonly digest: Digest | undefined;
    /** Its description by the registry for the platform. */
    readonly image: RemoteImage | undefined;
  },
  signal: AbortSignal | undefined,
): Promise<Judged> {
  const needed = neededSignature(effective, outside.verificationKeys ?? []);
  if (needed === undefined) return { kind: 'unneeded' };
  if (digest === undefined || image?.digest !== digest)
    return { kind: 'unsigned', why: notSigned(needed.names, 'its digest is not known') };
  const { manifestDigest, configDigest } = image;
  const found = await findSigned(outside, needed, { reference, digests: [digest, manifestDigest] }, signal);
  if ('why' in found) return { kind: 'unsigned', why: notSigned(needed.names, found.why) };
  return { kind: 'signed', verified: { manifestDigest, configDigest, isIndexUnsigned: found.signed !== digest } };
}

/** Why the image of that digest is not signed, whatever the index that names it: see `verifyImage`. */
export async function whyUnsigned(
  outside: Signed,
  effective: SignatureSettings,
  { reference, digest }: { readonly reference: ImageReference; readonly digest: Digest },
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const needed = neededSignature(effective, outside.verificationKeys ?? []);
  if (needed === undefined) return undefined;
  const found = await findSigned(outside, needed, { reference, digests: [digest] }, signal);
  return 'why' in found ? notSigned(needed.names, found.why) : undefined;
}

/** The first of the digests that one of the keys has signed. A signature may be stored beside any of them. */
async function findSigned(
  { registry, verificationKeys = [] }: Signed,
  { names, fault, annotations, identities, remark }: NeededSignature,
  { reference, digests }: { readonly reference: ImageReference; readonly digests: readonly Digest[] },
  signal: AbortSignal | undefined,
): Promise<{ readonly signed: Digest } | { readonly why: string }> {
  if (fault !== undefined) return { why: fault };
  const keys = verificationKeys.filter(({ name }) => names.includes(name));
  if (keys.length === 0) return { why: 'no key of that name is given with --verify-key' };
  const places = [...new Set(digests)];
  const judgeOf = (named: readonly Digest[]) =>
    createSignatureJudge({ reference, digests: named, keys, annotations, identities });
  const judge = judgeOf(places);
  for (const place of places) {
    let part: FoundSignatures | undefined = await registry.signaturesOf(reference, place, signal);
    for (; part !== undefined; part = await part.next?.(signal)) {
      const { found }: FoundSignatures = part;
      if (judge.signerIn(found) === undefined) continue;
      const signed = places.find((digest) => judgeOf([digest]).signerIn(found) !== undefined);
      if (signed !== undefined) return { signed };
    }
  }
  return { why: judge.why() + remark };
}

/** Like `requireSignature`, for a verdict without a registry request: no signature can be read. */
export function refuseUnproven(
  { verificationKeys = [] }: Signed,
  { effective }: CheckSubject,
  verdict: Verdict | undefined,
): Verdict | undefined {
  const needed = neededSignature(effective, verificationKeys);
  if (verdict?.status !== 'stale' || needed === undefined) return verdict;
  const why = needed.fault ?? 'no registry may be asked for signatures, because no-pull is on';
  return unsigned(verdict, notSigned(needed.names, why));
}

/** Whether a new image needs a signature. */
export function needsSignature(effective: SignatureSettings, given: Signed['verificationKeys']): boolean {
  return neededSignature(effective, given ?? []) !== undefined;
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
  const { verified: _, ...rest } = verdict;
  return { ...rest, status: 'held', hold: 'unsigned', reason: `${verdict.reason}, but ${why}` };
}
