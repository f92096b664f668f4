/** Logs each entry that a list omitted as too large, once. */
export type OmittedEntryWarning = (thing: string, names: readonly string[]) => void;

export function createOmittedEntryWarning(warn: (message: string) => void): OmittedEntryWarning {
  const warned = new Set<string>();
  return (thing, names) => {
    const fresh = [...new Set(names)].filter((name) => !warned.has(`${thing} ${name}`));
    if (warned.size + fresh.length > mostRemembered) warned.clear();
    for (const name of fresh.slice(0, mostRemembered)) warned.add(`${thing} ${name}`);
    for (const name of fresh.slice(0, mostNamed))
      warn(`${describe(thing, name)}: its entry in the engine's list is too large`);
    if (fresh.length > mostNamed)
      warn(`${fresh.length - mostNamed} more ${thing}s are ignored: their entries are too large`);
  };
}

const mostRemembered = 1_000;

const mostNamed = 10;

function describe(thing: string, name: string): string {
  const which = name === '' ? `One ${thing} whose name cannot be read` : `The ${thing} ${name}`;
  return `${which} is ignored, and is neither checked nor updated`;
}
