import type { Log } from '../../../domain/outside/outside.ts';

/** Warns once of engines with the same id: one engine under two names, or clones of one machine. */
export function createSharedIds(log: Pick<Log, 'warn'>): (engine: string, id: string) => void {
  const ids = new Map<string, string>();
  const warned = new Set<string>();
  return (engine, id) => {
    ids.set(engine, id);
    const others = [...ids].filter(([name, other]) => name !== engine && other === id).map(([name]) => name);
    if (id === '' || others.length === 0 || warned.has(engine)) return;
    for (const name of [engine, ...others]) warned.add(name);
    log.warn(
      'Two engines have the same id: one engine under two names, or clones of one machine. Upkeep updates both',
      { engine, others },
    );
  };
}
