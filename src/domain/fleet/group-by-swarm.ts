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
