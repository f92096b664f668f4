import type { RunFacts } from './run-facts.ts';

/** The run with only some of its containers. */
export function partOfRun(facts: RunFacts, isIn: (name: string) => boolean): RunFacts {
  return {
    ...facts,
    containers: facts.containers.filter(({ name }) => isIn(name)),
    news: new Set([...facts.news].filter((name) => isIn(name))),
    steps: facts.steps.filter(({ container }) => isIn(container)),
    removedImages: facts.removedImages.filter(({ containerName }) => isIn(containerName)),
  };
}
