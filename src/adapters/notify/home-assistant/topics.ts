import { createHash } from 'node:crypto';

/** A name in the form for topics and ids. */
export function slug(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '_');
}

/**
 * A slug for each name. If several names have the same slug, all but one get six hex digits of a hash. The order of the
 * names does not matter.
 */
export function slugsOf(names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const taken = new Set<string>();
  // A name that is already a slug keeps it when other containers are added or removed.
  const order = [...new Set(names)].toSorted(
    (a, b) => Number(slug(b) === b) - Number(slug(a) === a) || (a < b ? -1 : 1),
  );
  for (const name of order) {
    const plain = slug(name);
    const own = taken.has(plain) ? `${plain}_${createHash('sha256').update(name).digest('hex').slice(0, 6)}` : plain;
    taken.add(own);
    found.set(name, own);
  }
  return found;
}

/** The topics of one host. */
export type Topics = ReturnType<typeof topicsOf>;

export function topicsOf(prefix: string, base: string, node: string) {
  const own = `${base}/${node}`;
  // Home Assistant discovers no id with a slash.
  const device = `${base.replaceAll('/', '_')}_${node}`;
  return {
    device,
    status: `${own}/status`,
    check: `${own}/check`,
    updates: `${own}/updates`,
    lastCheck: `${own}/last_check`,
    /** Not retained: what became of a request. */
    event: `${own}/event`,
    /** No container's slug begins with an underscore. */
    selfTest: `${own}/_self_test/install`,
    anyInstall: `${own}/+/install`,
    birth: `${prefix}/status`,
    anyConfig: `${prefix}/update/${device}/+/config`,
    /** Of all devices, those of other programs too. */
    everyConfig: `${prefix}/update/+/+/config`,
    everyStatus: `${base}/+/status`,
    config: (slugged: string) => `${prefix}/update/${device}/${slugged}/config`,
    sensorConfig: (name: string) => `${prefix}/sensor/${device}/${name}/config`,
    buttonConfig: (name: string) => `${prefix}/button/${device}/${name}/config`,
    eventConfig: (name: string) => `${prefix}/event/${device}/${name}/config`,
    state: (slugged: string) => `${own}/${slugged}/update`,
    attributes: (slugged: string) => `${own}/${slugged}/attributes`,
    install: (slugged: string) => `${own}/${slugged}/install`,
  };
}

/** The node and the slug of an entity of any Upkeep with this prefix and base; undefined for another topic. */
export function entityIn(
  { prefix, base }: { readonly prefix: string; readonly base: string },
  topic: string,
): { readonly node: string; readonly slugged: string } | undefined {
  const start = `${prefix}/update/${base.replaceAll('/', '_')}_`;
  const [node = '', slugged = '', end, ...more] = topic.startsWith(start) ? topic.slice(start.length).split('/') : [];
  return end === 'config' && more.length === 0 && node !== '' && slugged !== '' ? { node, slugged } : undefined;
}

/** The level that a `+` matches; undefined for another topic. */
export function wildcardLevel(pattern: string, topic: string): string | undefined {
  const [before = '', after = ''] = pattern.split('+');
  if (!topic.startsWith(before) || !topic.endsWith(after)) return undefined;
  const level = topic.slice(before.length, topic.length - after.length);
  return level === '' || level.includes('/') ? undefined : level;
}
