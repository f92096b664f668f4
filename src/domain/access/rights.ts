import { tryParseImageReference, repositoryName } from '../image/image-reference.ts';
import { namePattern, type NamePattern } from '../text/name-pattern.ts';

/** Each role has the rights of those before it: to read; to check, update, decide and roll back; to see settings and sessions. */
export const roles = ['viewer', 'operator', 'admin'] as const;

type Role = (typeof roles)[number];

/** `nothing`: anyone, also without credentials. */
export type Need = Role | 'nothing';

/** The rights of a caller. `within`: it sees and changes no other container. */
export type Rights = { readonly role: Role; readonly within?: AccessFilter };

/**
 * The containers of a limited caller. Patterns of one kind are alternatives, and both kinds must match; an empty list
 * matches all. In a pattern, `*` stands for any characters.
 */
export type AccessFilter = { readonly images: readonly string[]; readonly containers: readonly string[] };

/** A token without a written role, and a password. */
export const allRights: Rights = { role: 'admin' };

export function hasRole({ role }: Rights, need: Need): boolean {
  return need === 'nothing' || roles.indexOf(role) >= roles.indexOf(need);
}

/**
 * Reads `operator, image=acme/*, container=web-*`. The result of a text that is none is the end of a sentence about it,
 * and has no part of it, because the text may be the rest of a secret.
 */
export function readRights(text: string): Rights | string {
  const [first = '', ...items] = text.split(',').map((item) => item.trim());
  const role = roles.find((each) => each === first.toLowerCase());
  if (role === undefined)
    return `has a token with a space in it, or a word after it that is no role (${roles.join(', ')})`;
  const images: string[] = [];
  const containers: string[] = [];
  for (const item of items) {
    const [, kind, pattern = ''] = /^(image|container)\s*=\s*(\S+)$/.exec(item) ?? [];
    if (kind === undefined || pattern.length > maxPattern) return 'has a filter that is not image=… or container=…';
    if (kind === 'container') containers.push(pattern.replace(/^\//, ''));
    else if (pattern.includes('@')) return fixedImage;
    else if (imagePattern(pattern) === undefined) return vagueImage;
    else images.push(pattern);
  }
  if (images.length + containers.length > maxPatterns) return `has more than ${maxPatterns} filters`;
  return items.length === 0 ? { role } : { role, within: { images, containers } };
}

const maxPattern = 200;
const maxPatterns = 50;
const fixedImage = 'has an image=… with a digest, which an update changes: write the name without it';
const vagueImage = 'has an image=… whose registry or account is not written out: image=acme/*, image=ghcr.io/acme/*';

/** The rights in the form that `readRights` reads. */
export function formatRights({ role, within }: Rights): string {
  const filters = [
    ...(within?.images ?? []).map((pattern) => `image=${pattern}`),
    ...(within?.containers ?? []).map((pattern) => `container=${pattern}`),
  ];
  return [role, ...filters].join(', ');
}

/** A container as lists show it. `image` is the reference that it was created from. */
type Shown = { readonly name: string; readonly image: string };

/** Whether a container is within the filter. One whose image cannot be read is within no filter of images. */
export function accessTest({ images, containers }: AccessFilter): (container: Shown) => boolean {
  const ofImages = images.flatMap((pattern) => imagePattern(pattern) ?? []);
  const ofNames = containers.map(globPattern);
  return ({ name, image }) =>
    (containers.length === 0 || ofNames.some((matches) => matches(name))) &&
    (images.length === 0 || ofImages.some((matches) => matches(image)));
}

/**
 * `acme/*` means Docker Hub, like the reference of an image. A pattern without a tag matches any tag. Undefined if the
 * registry or an account of Docker Hub has a `*`: anyone may open the account `acme-evil`. A written registry may be
 * one's own, where `*` and `team-*` are meant.
 */
function imagePattern(text: string): ((image: string) => boolean) | undefined {
  const [, repository = '', tag] = /^(.+?)(?::([^:/]+))?$/.exec(text) ?? [];
  const parts = repository.split('/');
  const [first = ''] = parts;
  const hasHost = parts.length > 1 && (/[.:]/.test(first) || first === 'localhost');
  const [owner = ''] = hasHost ? [first] : parts;
  if (repository === '' || parts.includes('') || owner === '*' || (owner.includes('*') && parts.length > 1))
    return undefined;
  const path = parts.slice(hasHost ? 1 : 0).join('/');
  // Docker Hub has several hosts, and its own images have a folder that is not written.
  const registry = tryParseImageReference(`${hasHost ? `${first.toLowerCase()}/` : ''}any/image`)?.registry;
  if (registry === undefined) return undefined;
  const isOfficial = registry === 'docker.io' && !path.includes('/') && !(hasHost && path.includes('*'));
  const matchesName = globPattern(`${registry}/${isOfficial ? 'library/' : ''}${path}`);
  const matchesTag = tag === undefined ? undefined : globPattern(tag);
  return (image) => {
    const reference = tryParseImageReference(image);
    if (reference === undefined) return false;
    const name = repositoryName({ ...reference, registry: reference.registry.toLowerCase() });
    return matchesName(name) && (matchesTag === undefined || matchesTag(reference.tag ?? ''));
  };
}

function globPattern(text: string): NamePattern {
  return namePattern(text.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*'));
}

/** A person whom a proxy or an issuer has named. `email` only if it is verified. */
export type Person = {
  readonly name: string;
  readonly email?: string;
  readonly groups: readonly string[];
  /** `header`: the name is one that the proxy has written, so it may be listed alone. */
  readonly from: 'header' | 'issuer';
};

/** A person in the issuer's words. `isUnverified`: it has an e-mail address that it has not verified. */
export type NamedByIssuer = Omit<Person, 'from'> & {
  readonly isUnverified: boolean;
  /** For the sign-out there. */
  readonly idToken: string | undefined;
};

/** The secrets that the answer to one sign-in is compared with. It never leaves the process, except for a hash of the verifier. */
export type BegunSignIn = {
  readonly redirectUrl: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
};

/** The issuer that people sign in at. Each function asks it, and throws a `ServiceError` with a reason for people. */
export type Issuer = {
  /** Text that changes when another issuer or client is used. */
  readonly credential: string;
  /** The address to send the browser to. */
  readonly begin: (redirectUrl: string) => Promise<{ readonly url: string; readonly begun: BegunSignIn }>;
  /** `query`: of the address that the browser comes back to. */
  readonly finish: (query: string, begun: BegunSignIn) => Promise<NamedByIssuer>;
  /** The address that ends the session there; undefined if the issuer has none. */
  readonly endUrl: (idToken: string | undefined) => Promise<string | undefined>;
  readonly close: () => Promise<void>;
};

/** The people of each role, as the options list them: `anna`, `anna@example.com`, `@example.com`, `group:family`. */
export type PeopleLists = Readonly<Record<Role, readonly string[]>>;

/** The highest role of a person. Undefined: they are on no list, and may not come in. */
export function rightsOfPerson(person: Person, lists: PeopleLists): Rights | undefined {
  const role = roles.findLast((each) => lists[each].some((entry) => isListed(person, entry)));
  return role && { role };
}

function isListed({ name, email, groups, from }: Person, entry: string): boolean {
  if (entry.startsWith(groupPrefix)) return groups.includes(entry.slice(groupPrefix.length));
  if (!entry.includes('@')) return from === 'header' && name === entry;
  const address = inSmallLetters(email ?? '');
  const wanted = inSmallLetters(entry);
  return wanted.startsWith('@') ? address.lastIndexOf('@') > 0 && address.endsWith(wanted) : address === wanted;
}

/** Only A to Z: in lower case the Kelvin sign would be a `k`, and the address that of another person. */
function inSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const groupPrefix = 'group:';

/** Whether a text is an entry of `PeopleLists`. */
export function isPeopleEntry(text: string): boolean {
  if (text.startsWith(groupPrefix)) return text.length > groupPrefix.length;
  return /^[^@\s]*(?:@[^@\s.]+(?:\.[^@\s.]+)*)?$/.test(text) && text !== '' && text.length <= 300;
}
