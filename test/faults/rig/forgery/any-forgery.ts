import fc from 'fast-check';
import { bystanders, type ForgedJournal, type ForgedName, type Forgery, type Party } from './forgery.ts';

const parties: readonly Party[] = [...bystanders, 'web', 'app'];
/** The honest update is the most likely target. */
const anyParty = fc.constantFrom<Party>(...parties, 'web', 'web', 'web');
const policies = ['n', 'e', 'a', 'u', 'f3'] as const;

/** Name endings of transactions, and similar ones. */
export const endings: readonly string[] = [
  '.upkeep-new',
  '.upkeep-bad',
  '.upkeep-standin',
  '.upkeep-helper',
  ...['old', 'drop'].flatMap((place) =>
    policies.flatMap((code) => [`.upkeep-${place}-${code}`, `.upkeep-${place}-${code}-s`]),
  ),
  '.upkeep-kept-n-1',
  '.upkeep-kept-u-zzzzzzz',
  '.upkeep-newer',
  '.upkeep-new.upkeep-old-u',
  '.upkeep-old-',
];

const anyEnding = fc.constantFrom(...endings);
const places = fc.constantFrom('.upkeep-new', '.upkeep-bad', '.upkeep-standin');

/** Only `stray` containers can have an existing plain name; there are many of them. */
const strayName: fc.Arbitrary<ForgedName> = fc.record({
  of: fc.constant('stray'),
  ending: fc.oneof(fc.constantFrom('', '-2', '-3'), anyEnding),
});

function nameOf(party: Party, ending = fc.oneof(places, anyEnding)): fc.Arbitrary<ForgedName> {
  return fc.record({ of: fc.constant(party), ending });
}

const anyThing = fc.constantFrom<Party | 'own' | 'spare'>(...parties, 'own', 'spare');
const anyImage = fc.oneof(anyThing, fc.constant('nothing'));
/** The `name` of a journal, possibly an existing container's. */
const anyName = fc.oneof(
  strayName,
  anyParty.chain((party) => fc.oneof(nameOf(party), nameOf(party, fc.constant('')))),
);

/** The name of the updated container is free for moments. `anyTakeover` covers that case. */
const anyFreeName = anyName.filter(({ of, ending }) => ending !== '' || (of !== 'web' && of !== 'app'));

/** An absent field is as in an honest update. */
const anyField = {
  name: anyName,
  old: fc.oneof(anyParty, fc.constant('nobody')),
  others: fc.uniqueArray(anyParty, { minLength: 1, maxLength: 3 }),
  leads: fc.boolean(),
  oldImage: anyImage,
  taggedBefore: anyImage,
  newImage: anyImage,
  reference: anyThing,
  role: fc.constantFrom('successor', 'replica'),
  autoRemoves: fc.boolean(),
  policy: fc.constantFrom(...policies, 'q', ''),
  wasRunning: fc.boolean(),
  hasNoMark: fc.boolean(),
  desiredEndState: fc.constantFrom('running', 'stopped', 'completed', ''),
  keep: fc.constantFrom('0', '3600000', '999999999999', '-1'),
  owner: fc.constantFrom('dead', 'alive', 'elsewhere', 'nobody'),
  ownerContainer: fc.oneof(anyParty, fc.constant('nobody')),
  transaction: fc.constantFrom('one', 'two', 'open'),
} as const satisfies { readonly [F in keyof Required<ForgedJournal>]: fc.Arbitrary<ForgedJournal[F]> };

type Field = keyof typeof anyField;

/** With too many false fields, the journal is rejected at once. */
function anyJournal(fields: readonly Field[]): fc.Arbitrary<ForgedJournal> {
  return fc
    .subarray([...fields], { maxLength: 4 })
    .chain((chosen) => fc.tuple(...chosen.map((field) => anyLie(field))))
    .map((lies) => Object.assign({}, ...lies) as ForgedJournal);
}

function anyLie(field: Field): fc.Arbitrary<ForgedJournal> {
  const values: fc.Arbitrary<unknown> = anyField[field];
  return values.map((value) => ({ [field]: value }));
}

type Plan = {
  readonly names: (target: Party) => fc.Arbitrary<ForgedName>;
  readonly fields: readonly Field[];
  readonly copies?: fc.Arbitrary<Forgery['copiedFrom']>;
};

function oneForgery({ names, fields, copies = fc.constant(undefined) }: Plan): fc.Arbitrary<Forgery> {
  return anyParty.chain((target) =>
    fc.record({
      target: fc.constant(target),
      createdAs: names(target),
      renamedTo: fc.option(names(target), { nil: undefined, freq: 4 }),
      image: fc.oneof(fc.constant(target), fc.constantFrom<Forgery['image']>('own', ...parties)),
      policy: fc.constantFrom('no', 'always'),
      state: fc.constantFrom('created', 'running', 'exited'),
      comes: fc.constantFrom('first', 'last'),
      copiedFrom: copies,
      changes: anyJournal(fields),
    }),
  );
}

const usual: readonly Field[] = ['role', 'policy', 'wasRunning', 'hasNoMark', 'desiredEndState', 'autoRemoves', 'keep'];
const asNeighbour = (target: Party) => nameOf(target);
const anywhere = () => anyFreeName;

/** Forgeries by their kind, from one forger each; `many` share a transaction. */
const plans: Readonly<Record<string, Plan & { readonly many?: boolean }>> = {
  'under a name of its own': { names: () => strayName, fields: usual },
  'under a name that a transaction gives': { names: asNeighbour, fields: usual },
  'with several carriers and members': {
    names: asNeighbour,
    fields: ['others', 'leads', 'wasRunning', 'policy', 'role', 'old'],
    many: true,
  },
  'copied from labels that are real': {
    names: (target) => fc.oneof(nameOf('web'), nameOf(target), strayName),
    fields: usual,
    copies: fc.constantFrom<Forgery['copiedFrom']>('open', 'open', 'open', 'veteran', 'rested', 'committed', 'web'),
    many: true,
  },
  'joined to an update that is open': {
    names: (target) => fc.oneof(nameOf('web'), nameOf(target), strayName),
    fields: ['transaction', 'name', 'old', 'others', 'role', 'wasRunning', 'policy', 'owner'],
    many: true,
  },
  'with images and tags of others': {
    names: asNeighbour,
    fields: ['oldImage', 'taggedBefore', 'newImage', 'reference', 'autoRemoves', 'role', 'wasRunning'],
  },
  'with owners of all kinds': {
    names: asNeighbour,
    fields: ['owner', 'ownerContainer', 'transaction', 'wasRunning'],
    many: true,
  },
  'of every kind at once': {
    names: anywhere,
    fields: Object.keys(anyField) as Field[],
    copies: fc.option(fc.constantFrom<Forgery['copiedFrom']>('open', ...parties), { nil: undefined }),
    many: true,
  },
};

export const forgeryKinds: readonly string[] = Object.keys(plans);

export function anyForgeries(kind: string): fc.Arbitrary<readonly Forgery[]> {
  const plan = plans[kind];
  if (plan === undefined) throw new Error(`Cannot forge "${kind}": they are ${forgeryKinds.join(', ')}`);
  return fc.array(oneForgery(plan), { minLength: 1, maxLength: plan.many === true ? 5 : 2 });
}

/** Uses the name of the updated container, which is free between two calls, with fields like a successor's. */
export function anyTakeover(): fc.Arbitrary<readonly Forgery[]> {
  const takeover = oneForgery({
    names: () => fc.constant({ of: 'web', ending: '' }),
    fields: ['transaction', 'wasRunning', 'policy', 'newImage', 'role'],
    copies: fc.option(fc.constant('open'), { nil: undefined }),
  });
  return takeover.map((forgery) => [{ ...forgery, target: 'web', comes: 'last', renamedTo: undefined }]);
}
