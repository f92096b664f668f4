import {
  isDigest,
  familiarReference,
  repositoryKey,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from './image-reference.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf, doubtIn, type JsonObject } from '../text/json.ts';
import { quoted } from '../text/printable.ts';

/**
 * A signature stored beside an image, not verified, or the reason why there is none that can be verified. Signatures
 * are in base64.
 */
export type FoundSignature =
  | (Signed & { readonly kind: 'simple-signing' })
  /** A statement of in-toto in a DSSE envelope: https://github.com/secure-systems-lab/dsse/blob/master/protocol.md */
  | (Signed & { readonly kind: 'statement'; readonly payloadType: string })
  /** Over the image's manifest itself. */
  | (Signed & { readonly kind: 'manifest'; readonly digest: Digest })
  /** Says something about the image, such as its list of packages. It is no signature of the image. */
  | { readonly kind: 'attestation'; readonly predicateType: string }
  /** Completes "a signature of it cannot be read: ". */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** More may exist: a limit was met. Completes "not all of its signatures were read: ". */
  | { readonly kind: 'cut'; readonly why: string };

type Signed = {
  readonly payload: Uint8Array;
  readonly signature: string;
  /** A certificate is stored with it, so that its key is not one of a file. */
  readonly isKeyless?: boolean;
};

/** A part of the signatures of an image, in the order of reading. `next` reads on; absent: these were the last. */
export type FoundSignatures = {
  readonly found: readonly FoundSignature[];
  readonly next?: (signal?: AbortSignal) => Promise<FoundSignatures>;
};

/** The public keys of a file of `--verify-key`. */
export type VerificationKey = {
  readonly name: string;
  /** Whether one of them has signed these bytes. False for a malformed signature. */
  readonly hasSigned: (content: Uint8Array, signature: string) => boolean;
};

export type SignatureQuestion = {
  readonly reference: ImageReference;
  /** Digests of the image: of the index, or of the manifest for the platform. */
  readonly digests: readonly Digest[];
  /** One of these keys is enough. */
  readonly keys: readonly VerificationKey[];
  /** Other names that the signature may have. */
  readonly identities: readonly AllowedIdentity[];
  /** A signature needs all of these. */
  readonly annotations: readonly RequiredAnnotation[];
};

/**
 * Images of `repository` (undefined: each image) may be signed under `name`. Full names with a lower-case host; with a
 * slash at the end both mean all repositories below, and the rest of the names is the same.
 */
export type AllowedIdentity = { readonly repository: string | undefined; readonly name: string };

export type RequiredAnnotation = readonly [name: string, value: string];

/** Judges the signatures of one image, part after part. */
type SignatureJudge = {
  /** The name of a key that has signed the image; undefined: none in this part. */
  readonly signerIn: (found: readonly FoundSignature[]) => string | undefined;
  /** Why no signature was valid until now. Completes "not signed by NAME: ". */
  readonly why: () => string;
};

/**
 * Whether one of the keys has signed this digest, under this repository's name or an allowed one, with the required
 * annotations. A signature of another digest, or of the same digest in another repository, proves nothing here. A bundle
 * of cosign 3 names no repository, so it counts in each. Without keys nothing counts as signed.
 */
export function createSignatureJudge(question: SignatureQuestion): SignatureJudge {
  let best: Fault = { weight: 0, why: 'it has no signature' };
  let rest = '';
  return { signerIn, why: () => best.why + rest };

  function signerIn(found: readonly FoundSignature[]): string | undefined {
    for (const each of found) {
      if (each.kind === 'cut') rest = `; not all of its signatures were read: ${each.why}`;
      else {
        const judged = judge(each, question);
        if (typeof judged === 'string') return judged;
        if (judged.weight > best.weight) best = judged;
      }
    }
    return undefined;
  }
}

/** The fault of the highest weight is reported, because it tells most about the remedy. */
type Fault = { readonly weight: number; readonly why: string };

function judge(found: Exclude<FoundSignature, { kind: 'cut' }>, question: SignatureQuestion): string | Fault {
  if (found.kind === 'attestation') return { weight: 1, why: `${noSignature}, but ${nameOf(found.predicateType)}` };
  if (found.kind === 'unreadable') return { weight: 4, why: `a signature of it cannot be read: ${found.why}` };
  const content = signedContent(found);
  const key = question.keys.find(({ hasSigned }) => hasSigned(content, found.signature));
  if (key === undefined) {
    if (found.isKeyless) return { weight: 3, why: 'its signature is of a certificate, and only keys are supported' };
    return { weight: 2, why: 'none of its signatures is of that key' };
  }
  const claim = readClaim(found);
  const fault = 'fault' in claim ? claim.fault : faultOf(claim.subjects, question);
  return fault === undefined ? key.name : { weight: 5, why: fault };
}

const noSignature = 'it has no signature';

function nameOf(predicateType: string): string {
  return `an attestation of the kind ${quoted(predicateType, 200)}`;
}

function signedContent(found: Extract<FoundSignature, Signed>): Uint8Array {
  return found.kind === 'statement' ? preAuthentication(found.payloadType, found.payload) : found.payload;
}

/** PAE, the bytes that a DSSE envelope is signed over: its lengths keep type and payload apart. */
function preAuthentication(type: string, payload: Uint8Array): Uint8Array {
  const encoder = new TextEncoder();
  const typeBytes = encoder.encode(type);
  const head = encoder.encode(`DSSEv1 ${typeBytes.length} ${type} ${payload.length} `);
  const content = new Uint8Array(head.length + payload.length);
  content.set(head);
  content.set(payload, head.length);
  return content;
}

/** The signed thing: an image, by its digest, under a name if the format has one. */
type Subject = {
  readonly digests: readonly Digest[];
  readonly name: string | undefined;
  readonly annotations: JsonObject | undefined;
};

type Claim = { readonly subjects: readonly Subject[] } | { readonly fault: string };

function faultOf(subjects: readonly Subject[], question: SignatureQuestion): string | undefined {
  const { digests } = question;
  const same = subjects.filter((subject) => subject.digests.some((digest) => digests.includes(digest)));
  if (same.length === 0) {
    const other = subjects.flatMap((subject) => subject.digests)[0];
    return other === undefined ? 'its signature names no digest' : `its signature is of another digest, ${other}`;
  }
  const faults = same.map((subject) => faultOfName(subject.name, question) ?? faultOfAnnotations(subject, question));
  return faults.includes(undefined) ? undefined : faults[0];
}

function faultOfName(name: string | undefined, { reference, identities }: SignatureQuestion): string | undefined {
  if (name === undefined) return undefined;
  const named = tryParseImageReference(name);
  if (named === undefined) return 'its signature names no repository';
  const [own, signed] = [repositoryKey(reference), repositoryKey(named)];
  if (own === signed || identities.some((identity) => isAllowed(identity, own, signed))) return undefined;
  const shown = familiarReference({ ...named, tag: undefined, digest: undefined });
  return `its signature is of another repository, ${quoted(shown, 300)}`;
}

function isAllowed(identity: AllowedIdentity, own: string, signed: string): boolean {
  const { repository = own, name } = identity;
  if (!name.endsWith('/')) return repository === own && name === signed;
  return own.startsWith(repository) && signed === name + own.slice(repository.length);
}

function faultOfAnnotations({ annotations }: Subject, question: SignatureQuestion): string | undefined {
  const missing = question.annotations.find(([name, value]) => annotations?.[name] !== value);
  return missing && `its signature has no annotation ${quoted(missing.join('='), 300)}`;
}

function readClaim(found: Extract<FoundSignature, Signed>): Claim {
  if (found.kind === 'manifest')
    return { subjects: [{ digests: [found.digest], name: undefined, annotations: undefined }] };
  const fields = parseSigned(found.payload);
  if (fields === undefined) return { fault: 'its signature is not for an image' };
  return found.kind === 'statement' ? readStatement(fields, found.payloadType) : readSimpleSigning(fields);
}

/** A field given twice would be read differently by different programs. */
function parseSigned(payload: Uint8Array): JsonObject | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(payload);
    const fields = parseJsonObject(text);
    return fields !== undefined && doubtIn(text) === undefined ? fields : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The payload of simple signing, the format of cosign 2:
 * https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#payload
 */
function readSimpleSigning(fields: JsonObject): Claim {
  const critical = objectOf(fields['critical']);
  if (critical?.['type'] !== cosignType) return { fault: 'its signature is not for an image' };
  const digest = stringOf(objectOf(critical['image'])?.['docker-manifest-digest']) ?? '';
  const name = stringOf(objectOf(critical['identity'])?.['docker-reference']) ?? '';
  if (!isDigest(digest)) return { fault: 'its signature names no digest' };
  return { subjects: [{ digests: [digest], name, annotations: objectOf(fields['optional']) }] };
}

const cosignType = 'cosign container image signature';

/** The statement that cosign 3 signs: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md */
function readStatement(fields: JsonObject, payloadType: string): Claim {
  const predicateType = stringOf(fields['predicateType']) ?? '';
  if (payloadType !== statementType || !statements.has(stringOf(fields['_type']) ?? ''))
    return { fault: 'its signature is not for an image' };
  if (predicateType !== signPredicate) return { fault: `${noSignature}, but ${nameOf(predicateType)}` };
  return { subjects: arrayOf(fields['subject']).map(readSubject) };
}

function readSubject(value: unknown): Subject {
  const { digest, name, annotations } = { ...objectOf(value) };
  const digests = Object.entries(objectOf(digest) ?? {}).map(([algorithm, hex]) => `${algorithm}:${String(hex)}`);
  return {
    digests: digests.filter(isDigest),
    name: name === undefined || name === '' ? undefined : (stringOf(name) ?? ''),
    annotations: objectOf(annotations),
  };
}

const statementType = 'application/vnd.in-toto+json';

const statements: ReadonlySet<string> = new Set([
  'https://in-toto.io/Statement/v1',
  'https://in-toto.io/Statement/v0.1',
]);

/** The predicate of a signature. Statements with other predicates are attestations. */
export const signPredicate = 'https://sigstore.dev/cosign/sign/v1';
