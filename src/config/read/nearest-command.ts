import { nearest } from '../../domain/text/name-pattern.ts';
import { commands, type CommandName } from '../declaration/commands.ts';

/** The command that a word probably means: by its meaning, else by its spelling. Undefined when none is near. */
export function nearestCommand(word: string): CommandName | undefined {
  const names = commands.map(({ name }) => name);
  return meanings.get(word.toLowerCase()) ?? nearest(word, names);
}

/** Other programs' names for the command. */
const meanings: ReadonlyMap<string, CommandName> = new Map([
  ['daemon', 'run'],
  ['start', 'run'],
  ['up', 'run'],
  ['outdated', 'check'],
  ['scan', 'check'],
  ['pull', 'update'],
  ['upgrade', 'update'],
  ['repair', 'recover'],
  ['restore', 'recover'],
  ['resume', 'recover'],
  ['revert', 'rollback'],
  ['undo', 'rollback'],
  ['images', 'containers'],
  ['inspect', 'containers'],
  ['follow', 'events'],
  ['log', 'events'],
  ['logs', 'events'],
  ['monitor', 'events'],
  ['tail', 'events'],
  ['watch', 'events'],
  ['env', 'config'],
  ['info', 'config'],
  ['options', 'config'],
  ['settings', 'config'],
]);
