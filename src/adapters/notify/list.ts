import { serviceOf } from './services/table.ts';
import type { ParsedTargets } from './targets.ts';

/** A target as a list shows it: its name, the name of its service, and its URL without secrets. */
export type ListedTarget = { readonly name: string; readonly service: string; readonly shown: string };

/** In the order of the options, Home Assistants last. */
export function listTargets({ targets, homeAssistants }: ParsedTargets): readonly ListedTarget[] {
  const messages = targets.map(({ name, service, shown }) => ({ name, service: titleOf(service), shown }));
  const entities = homeAssistants.map(({ shown }) => ({ name: 'homeassistant', service: 'Home Assistant', shown }));
  return [...messages, ...entities];
}

function titleOf(scheme: string): string {
  return serviceOf(scheme)?.title ?? scheme;
}
