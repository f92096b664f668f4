/** A descriptor of an image in an index. */
export type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

/** The text of an index, and the way in which it was made. */
export type HostileIndex = { readonly name: string; readonly text: string; readonly mediaType: string };

/** The images of a hostile index: a key has signed `good`, and nobody has signed `evil`. */
export type Images = { readonly good: Descriptor; readonly evil: Descriptor; readonly nested: Descriptor };

/** JSON as pairs, so that a name may appear twice. */
type Fields = readonly (readonly [string, Value])[];
type Value = string | number | boolean | null | Fields | readonly Value[] | { readonly list: readonly Value[] };

const ociIndex = 'application/vnd.oci.image.index.v1+json';
const dockerIndex = 'application/vnd.docker.distribution.manifest.list.v2+json';

/** Indexes that engines and other programs read in different ways, each found on a real engine. */
export function knownHostileIndexes({ good, evil, nested }: Images): readonly HostileIndex[] {
  const own = platform(['os', 'linux'], ['architecture', 'amd64']);
  const [goodly, evilly] = [descriptor(good), descriptor(evil)];
  const make = (name: string, ...entries: readonly Fields[]): HostileIndex => ({
    name,
    mediaType: ociIndex,
    text: write(index([['manifests', { list: entries }]])),
  });
  const before = (name: string, ...changed: readonly (readonly [string, Value])[]) =>
    make(name, [...evilly, platform(...changed)], [...goodly, own]);
  return [
    before('no system', ['architecture', 'amd64']),
    before('an empty system', ['os', ''], ['architecture', 'amd64']),
    before('no architecture', ['os', 'linux']),
    before('an empty platform'),
    make('no platform', evilly, [...goodly, own]),
    make('a platform of null', [...evilly, ['platform', null]], [...goodly, own]),
    before('the same platform', ['os', 'linux'], ['architecture', 'amd64']),
    before('variant v1', ['os', 'linux'], ['architecture', 'amd64'], ['variant', 'v1']),
    before('variant v2', ['os', 'linux'], ['architecture', 'amd64'], ['variant', 'v2']),
    before('variant v3', ['os', 'linux'], ['architecture', 'amd64'], ['variant', 'v3']),
    before('features', ['os', 'linux'], ['architecture', 'amd64'], ['features', { list: ['sse4'] }]),
    before('a version of the system', ['os', 'linux'], ['architecture', 'amd64'], ['os.version', '6.1']),
    before('features of the system', ['os', 'linux'], ['architecture', 'amd64'], ['os.features', { list: ['x'] }]),
    before('another name of the architecture', ['os', 'linux'], ['architecture', 'x86_64']),
    before('capitals', ['os', 'linux'], ['architecture', 'AMD64']),
    before('a capital in the system', ['os', 'Linux'], ['architecture', 'amd64']),
    before('a field in capitals', ['OS', 'linux'], ['architecture', 'amd64']),
    make(
      'a second platform in capitals',
      [...evilly, platform(['os', 'linux'], ['architecture', 'arm64']), ['Platform', own[1]]],
      [...goodly, own],
    ),
    make('a second digest in capitals', [...goodly, own, ['Digest', evil.digest]]),
    make('a second digest with a long s', [...goodly, own, ['dige\u017Ft', evil.digest]]),
    make('two digests', [['digest', good.digest], ...evilly, own]),
    make('two digests, the other way round', [['digest', evil.digest], ...goodly, own]),
    make(
      'two platforms',
      [...evilly, platform(['architecture', 'amd64']), platform(['os', 'linux'])],
      [...goodly, own],
    ),
    make('a nested index', [...descriptor(nested), own], [...goodly, own]),
    {
      name: 'two lists',
      mediaType: ociIndex,
      text: write(
        index([
          ['manifests', { list: [[...goodly, own]] }],
          ['Manifests', { list: [[...evilly, own]] }],
        ]),
      ),
    },
  ];
}

/** Makes hostile indexes by random changes. The same seed makes the same indexes. */
export function createHostileIndexes(seed: number): (images: Images) => HostileIndex {
  const random = createRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const maybe = (share: number) => random() < share;

  const values: Readonly<Record<string, readonly Value[]>> = {
    os: ['linux', 'linux', 'linux', '', 'Linux', 'windows', null, ' linux', 'darwin'],
    architecture: ['amd64', 'amd64', 'amd64', '', 'AMD64', 'x86_64', '386', 'arm64', null, 'x86-64'],
    variant: ['', 'v1', 'v2', 'v3', 'v4', 'v8', 'V2', '1', '3', null],
    'os.version': ['', '6.1', '10.0.20348.1', null],
    'os.features': [{ list: [] }, { list: ['win32k'] }, { list: [''] }, null],
    features: [{ list: [] }, { list: ['sse4'] }, null],
  };

  /** The name of a field as only some parsers know it. */
  function spelled(name: string): string {
    return one([
      name.toUpperCase(),
      name.slice(0, 1).toUpperCase() + name.slice(1),
      name.replace('s', '\u017F'),
      name.replace('k', '\u212A'),
      `${name} `,
    ]);
  }

  function randomPlatform(): Fields {
    const fields: (readonly [string, Value])[] = [];
    for (const [name, choices] of Object.entries(values)) {
      const isUsual = name === 'os' || name === 'architecture';
      if (maybe(isUsual ? 0.15 : 0.7)) continue;
      fields.push([maybe(0.1) ? spelled(name) : name, one(choices)]);
      if (maybe(0.08)) fields.push([maybe(0.5) ? spelled(name) : name, one(choices)]);
    }
    return maybe(0.2) ? fields.toReversed() : fields;
  }

  function randomEntry(images: Images, image: Descriptor): Fields {
    const usual: Fields = [
      ['os', 'linux'],
      ['architecture', 'amd64'],
    ];
    const fields: (readonly [string, Value])[] = [...descriptor(image)];
    const chosen = maybe(0.35) ? usual : randomPlatform();
    if (!maybe(0.08)) fields.push(['platform', maybe(0.05) ? null : chosen]);
    if (maybe(0.08)) fields.push([maybe(0.6) ? spelled('platform') : 'platform', randomPlatform()]);
    if (maybe(0.08)) fields.push([maybe(0.6) ? spelled('digest') : 'digest', one([images.evil, images.good]).digest]);
    if (maybe(0.05)) fields.push(['mediaType', one([ociIndex, dockerIndex, 'application/json', ''])]);
    if (maybe(0.05)) fields.push(['size', one([0, 1, image.size + 1])]);
    if (maybe(0.05)) fields.push(['artifactType', one(['application/x', ''])]);
    if (maybe(0.05)) fields.push(['annotations', [['vnd.docker.reference.type', 'attestation-manifest']]]);
    return maybe(0.2) ? fields.toReversed() : fields;
  }

  return (images) => {
    const { good, evil, nested } = images;
    const entries = [
      randomEntry(images, evil),
      maybe(0.7) ? [...descriptor(good), usualPlatform] : randomEntry(images, good),
    ];
    while (maybe(0.3)) entries.push(randomEntry(images, one([good, evil, evil, nested])));
    const lists: (readonly [string, Value])[] = [['manifests', { list: shuffled(entries) }]];
    if (maybe(0.05))
      lists.push([maybe(0.7) ? spelled('manifests') : 'manifests', { list: [randomEntry(images, evil)] }]);
    if (maybe(0.03)) lists.push(['config', descriptor(evil)]);
    if (maybe(0.03)) lists.push(['subject', descriptor(good)]);
    const mediaType = maybe(0.7) ? ociIndex : dockerIndex;
    const text = write(index(maybe(0.1) ? lists.toReversed() : lists, maybe(0.1) ? undefined : mediaType));
    return { name: text, text, mediaType };
  };

  function shuffled<Item>(items: readonly Item[]): readonly Item[] {
    const left = [...items];
    return items.map(() => left.splice(below(left.length), 1)[0] as Item);
  }
}

/** An index of one image, for an index of indexes. */
export function indexOf(image: Descriptor): { readonly text: string; readonly mediaType: string } {
  return {
    text: write(index([['manifests', { list: [[...descriptor(image), usualPlatform]] }]])),
    mediaType: ociIndex,
  };
}

function platform(...fields: Fields): readonly [string, Fields] {
  return ['platform', fields];
}

const usualPlatform = platform(['os', 'linux'], ['architecture', 'amd64']);

function descriptor({ mediaType, digest, size }: Descriptor): Fields {
  return [
    ['mediaType', mediaType],
    ['digest', digest],
    ['size', size],
  ];
}

function index(fields: Fields, mediaType: string | undefined = ociIndex): Fields {
  return [['schemaVersion', 2], ...(mediaType === undefined ? [] : [['mediaType', mediaType] as const]), ...fields];
}

function write(value: Value): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if ('list' in value) return `[${value.list.map(write).join()}]`;
  return `{${(value as Fields).map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`).join()}}`;
}

/** https://github.com/cprosche/mulberry32 */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
