import { type Json, textOf } from './reading.ts';

/** The unique name of a container: `nas/web` with several engines. */
export function uniqueName(name: string, engine: string): string {
  return engine === '' || name === '' ? name : `${engine}/${name}`;
}

/** The same for an entry, or for the data of an event. */
export function nameIn({ name, container, engine }: Json): string {
  return uniqueName(textOf(name) || textOf(container), textOf(engine));
}
