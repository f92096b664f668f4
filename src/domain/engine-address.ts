/** One of the engines that a process works on. */
export type EngineAddress = {
  /** A valid name by `isEngineName`, unique among the engines of the process. */
  readonly name: string;
  /** `unix:///path`, `tcp://host:port`, `http(s)://host:port` or `ssh://user@host:port`. */
  readonly host: string;
  /** Absent: the common TLS settings of all engines. */
  readonly tls?: EngineTls;
};

/** Paths of PEM files. An absent path is not used. */
export type EngineTls = {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** False: the certificate of the engine is not verified. */
  readonly verify: boolean;
};

/** The characters are safe in labels of metrics, in queries and in tables. */
export function isEngineName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(text);
}

/**
 * Reads `NAME=URL`, or a URL alone, which is named `local` for a socket, else after its host. The fault completes
 * "Cannot read …: ".
 */
export function parseEngineAddress(
  text: string,
): EngineAddress | { readonly fault: string; readonly of: 'name' | 'address' | 'password' } {
  // In a URL the scheme precedes any equals sign.
  const [, given, host = text] = /^([^=:/]*)=(.*)$/s.exec(text) ?? [];
  if (given !== undefined && !isEngineName(given)) return { fault: `its name is not ${engineNameGrammar}`, of: 'name' };
  if (!/^(?:unix:\/\/\/.|(?:tcp|http|https|ssh):\/\/[^/])/.test(host))
    return { fault: 'it is not an address such as tcp://server:2376, or name=tcp://server:2376', of: 'address' };
  if (!host.startsWith('unix:') && holdsPassword(host))
    return { fault: 'it holds a password; use a key of ssh, or TLS', of: 'password' };
  const name = given ?? nameOf(host);
  return isEngineName(name)
    ? { name, host }
    : { fault: 'its host is not a valid engine name: write NAME=URL', of: 'name' };
}

/** A user name may contain `@`, so the last one ends the login. */
function holdsPassword(url: string): boolean {
  const login = url.slice(url.indexOf('://') + '://'.length, Math.max(url.lastIndexOf('@'), 0));
  return login.includes(':');
}

export const engineNameGrammar = '1 to 63 letters, digits, dots, dashes and underscores, a letter or digit first';

/** The names that more than one engine has. */
export function repeatedNames(engines: readonly EngineAddress[]): readonly string[] {
  const names = engines.map(({ name }) => name);
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

function nameOf(host: string): string {
  if (host.startsWith('unix:')) return 'local';
  return URL.canParse(host) ? new URL(host).hostname.replace(/^\[(.*)\]$/, '$1') : '';
}

/** A swarm with the engines that manage it, in configured order. Its services count as the first one's. */
export type SwarmOfEngines<Engine> = { readonly id: string; readonly managers: readonly [Engine, ...Engine[]] };

/** The swarms of engines in configured order, in the order of their owners. `swarmOf`: undefined for an engine that manages none. */
export function groupBySwarm<Engine>(
  engines: readonly Engine[],
  swarmOf: (engine: Engine) => string | undefined,
): readonly SwarmOfEngines<Engine>[] {
  const groups = new Map<string, [Engine, ...Engine[]]>();
  for (const engine of engines) {
    const id = swarmOf(engine);
    if (id === undefined) continue;
    const managers = groups.get(id);
    if (managers === undefined) groups.set(id, [engine]);
    else managers.push(engine);
  }
  return [...groups].map(([id, managers]) => ({ id, managers }));
}
