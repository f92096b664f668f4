/** Logs each entry that a list left out as too large, once. */
export type OmittedEntryWarning = (thing: string, names: readonly string[]) => void;

export function createOmittedEntryWarning(warn: (message: string) => void): OmittedEntryWarning {
  const told = new Set<string>();
  return (thing, names) => {
    const fresh = [...new Set(names)].filter((name) => !told.has(`${thing} ${name}`));
    if (told.size + fresh.length > mostTold) told.clear();
    for (const name of fresh.slice(0, mostTold)) told.add(`${thing} ${name}`);
    for (const name of fresh.slice(0, mostNamed))
      warn(`${leave(thing, name)}: its entry in the engine's list is too large`);
    if (fresh.length > mostNamed) warn(`${fresh.length - mostNamed} more of the ${thing}s are left out for their size`);
  };
}

/** Names that are remembered. */
const mostTold = 1_000;

/** The number of names that one warning lists. */
const mostNamed = 10;

function leave(thing: string, name: string): string {
  const which = name === '' ? `One ${thing} whose name cannot be read` : `The ${thing} ${name}`;
  return `${which} is ignored, and is neither checked nor updated`;
}
