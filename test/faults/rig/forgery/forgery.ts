import { journalPrefix } from '../../../../src/domain/image/labels.ts';

/** Containers beside an update that are not part of it. A forger tries to have them stopped, removed or started. */
export const bystanders = [
  'vault',
  'job',
  'idle',
  'private',
  'shy',
  'scoped',
  'veteran',
  'rested',
  'committed',
] as const;
export type Bystander = (typeof bystanders)[number];

/** Containers that a forgery may name; `web` is updated honestly, together with `app` if it depends on it. */
export type Party = Bystander | 'web' | 'app';

/** `stray`: an unused name. It may end like a name in a transaction. */
export type ForgedName = { readonly of: Party | 'stray'; readonly ending: string };

/** `own`: the forger's; `spare`: another user's, at the moment without a container. */
export type Thing = Party | 'own' | 'spare';

/** A forgery by someone who may create containers: one container with false labels and names. */
export type Forgery = {
  /** The container that it claims to replace. */
  readonly target: Party;
  readonly createdAs: ForgedName;
  readonly renamedTo: ForgedName | undefined;
  readonly image: Party | 'own';
  readonly policy: 'no' | 'always';
  readonly state: 'created' | 'running' | 'exited';
  /** Before the honest update, or after it was interrupted. */
  readonly comes: 'first' | 'last';
  /** Labels copied as they are; `open`: from the honest update. */
  readonly copiedFrom: Party | 'open' | undefined;
  readonly changes: ForgedJournal;
};

/** Differences from the journal of an honest successor of its target. */
export type ForgedJournal = Partial<{
  readonly transaction: 'one' | 'two' | 'open';
  readonly name: ForgedName;
  readonly old: Party | 'nobody';
  /** Members beside the target. */
  readonly others: readonly Party[];
  readonly leads: boolean;
  readonly oldImage: Thing | 'nothing';
  readonly taggedBefore: Thing | 'nothing';
  readonly newImage: Thing | 'nothing';
  readonly reference: Thing;
  readonly role: 'successor' | 'replica';
  readonly autoRemoves: boolean;
  readonly policy: string;
  readonly wasRunning: boolean;
  readonly hasNoMark: boolean;
  readonly desiredEndState: string;
  readonly keep: string;
  readonly owner: Owner;
  readonly ownerContainer: Party | 'nobody';
}>;

/** Claimed owner of the update; `elsewhere`: a process on another host. */
export type Owner = 'dead' | 'alive' | 'elsewhere' | 'nobody';

/** All containers at the forger's time. */
export type Street = {
  readonly who: (party: Party) => Inhabitant;
  readonly thing: (thing: 'own' | 'spare') => Pick<Inhabitant, 'imageId' | 'reference'>;
  /** Labels of the honest update's containers if it did not end. */
  readonly open: Labels | undefined;
  /** Labels of a successor from a real update, as the base of forgeries. */
  readonly real: Labels;
  /** Name of a forger's container without a claimed one. */
  readonly stray: string;
  readonly owners: Readonly<Record<Exclude<Owner, 'nobody'>, string>>;
};

export type Labels = Readonly<Record<string, string>>;

export type Inhabitant = {
  readonly name: string;
  readonly id: string;
  readonly imageId: string;
  readonly reference: string;
  readonly labels: Labels;
};

/** All containers of a forger have this environment variable, and so do containers that Upkeep makes of them. */
export const forgersMark = 'FORGED=1';

export const nobodysId = 'd'.repeat(64);

export function nameIn(street: Street, { of, ending }: ForgedName): string {
  return `${of === 'stray' ? street.stray : street.who(of).name}${ending}`;
}

export function forgedLabels(street: Street, { target, copiedFrom, changes }: Forgery): Labels {
  if (copiedFrom === 'open') return street.open ?? street.real;
  if (copiedFrom !== undefined) return street.who(copiedFrom).labels;
  const victim = street.who(target);
  const { old = target, others = [], leads = true } = changes;
  const name = changes.name === undefined ? victim.name : nameIn(street, changes.name);
  const oldId = old === 'nobody' ? nobodysId : street.who(old).id;
  const own = `${name}=${oldId}`;
  const more = others.map((party) => `${street.who(party).name}=${street.who(party).id}`);
  const about = (thing: Thing) => (thing === 'own' || thing === 'spare' ? street.thing(thing) : street.who(thing));
  const image = (thing: Thing | 'nothing') => (thing === 'nothing' ? '' : about(thing).imageId);
  const { oldImage = target, taggedBefore = target, newImage = 'own', reference = target } = changes;
  const { role = 'successor', autoRemoves = false, policy = 'a', wasRunning = true, keep = '0' } = changes;
  const { desiredEndState = wasRunning ? 'running' : 'stopped', owner = 'dead', ownerContainer = 'nobody' } = changes;
  return {
    ...street.real,
    ...journalLabels({
      id: transactionId(street, changes),
      name,
      old: oldId,
      'old-image': image(oldImage),
      'tagged-before': image(taggedBefore),
      'new-image': image(newImage),
      role,
      rm: autoRemoves ? '1' : '0',
      ref: about(reference).reference,
      policy,
      run: wasRunning ? '1' : '0',
      keep,
      owner: owner === 'nobody' ? '' : street.owners[owner],
      'owner-container': ownerContainer === 'nobody' ? '' : street.who(ownerContainer).id,
      members: (leads ? [own, ...more] : [...more, own]).join(','),
    }),
    [`${journalPrefix}then`]: desiredEndState,
    ...(changes.hasNoMark && journalLabels({ unmarked: '1' })),
  };
}

/** The journal of a finished update, whose old container was removed long ago. */
export function finishedJournal(real: Labels, name: string): Labels {
  const members = `${name}=${nobodysId}`;
  return { ...real, ...journalLabels({ id: `of-${name}`, name, old: nobodysId, policy: 'a', members }) };
}

export function journalLabels(fields: Labels): Labels {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [`${journalPrefix}${field}`, value]));
}

/** Ids of honest updates cannot be guessed, only copied. */
function transactionId({ open }: Street, { transaction = 'one' }: ForgedJournal): string {
  const copied = transaction === 'open' ? open?.[`${journalPrefix}id`] : undefined;
  return copied ?? `4f9c0e2a-0000-4000-8000-0000000000${transaction === 'two' ? '02' : '01'}`;
}
