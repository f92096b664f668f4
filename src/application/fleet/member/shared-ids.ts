import type { Log } from '../../../domain/outside/outside.ts';

/** Warns of engines that have one id: names of the same engine, or clones of one machine. Each is told of once. */
export function createSharedIds(log: Pick<Log, 'warn'>): (engine: string, id: string) => void {
  const ids = new Map<string, string>();
  const told = new Set<string>();
  return (engine, id) => {
    ids.set(engine, id);
    const others = [...ids].filter(([name, other]) => name !== engine && other === id).map(([name]) => name);
    if (id === '' || others.length === 0 || told.has(engine)) return;
    for (const name of [engine, ...others]) told.add(name);
    log.warn(
      'Two names lead to one engine, or to clones of one machine: they have the same id, and both are worked on',
      {
        engine,
        others,
      },
    );
  };
}
