import { type Json, textOf } from './reading.ts';

/** The name of a container that no other has: `nas/web` where there are several engines. */
export function uniqueName(name: string, engine: string): string {
  return engine === '' || name === '' ? name : `${engine}/${name}`;
}

/** The same of an entry, or of the data of an event. */
export function nameIn({ name, container, engine }: Json): string {
  return uniqueName(textOf(name) || textOf(container), textOf(engine));
}
