/** What can be asked of the executable: the first word of the command line. */
export type Command = {
  readonly name: string;
  /** What follows the command's name. */
  readonly usage: string;
  /** A sentence without a final period. */
  readonly meaning: string;
  /** The line the overview lists it with. */
  readonly summary: string;
  readonly takesNames: boolean;
  readonly examples: readonly { readonly line: string; readonly meaning: string }[];
};

export const commands = [
  {
    name: 'run',
    usage: '[NAME…]',
    summary: 'keep containers up to date: the service itself (the default)',
    meaning:
      'Checks the registries every --interval and replaces containers whose image has moved on. A successor must prove itself healthy, or the old container comes back',
    takesNames: true,
    examples: [
      { line: 'upkeep run', meaning: 'all containers, once a day' },
      { line: 'upkeep run --interval 1h web db', meaning: 'two containers, every hour' },
      { line: 'upkeep run --run-once --cleanup', meaning: 'once, then exit: for cron' },
    ],
  },
  {
    name: 'check',
    usage: '[NAME…]',
    summary: 'say what could be updated, and change nothing',
    meaning:
      'Asks the registries once which containers have a newer image, and says why the others stay. Changes nothing and pulls nothing',
    takesNames: true,
    examples: [
      { line: 'upkeep check', meaning: 'a table of all containers' },
      { line: 'upkeep check --image nginx --json', meaning: 'all that run nginx, for machines' },
      { line: 'upkeep check --exit-code', meaning: 'exit with 10 when there is something to update' },
    ],
  },
  {
    name: 'update',
    usage: '[NAME…]',
    summary: 'update now, once',
    meaning:
      'Checks, then replaces what is stale, in the order its dependencies ask for. Exits with 1 when a container failed or was rolled back',
    takesNames: true,
    examples: [
      { line: 'upkeep update', meaning: 'all containers' },
      { line: 'upkeep update --dry-run', meaning: 'print the plan instead of carrying it out' },
      { line: 'upkeep update --dry-run --verify', meaning: 'and create the new containers aside, to compare them' },
      { line: "upkeep update web 'api-.*'", meaning: 'by name, or by a pattern for the whole name' },
    ],
  },
  {
    name: 'demo',
    usage: '',
    summary: 'watch it work on an engine of its own: no Docker needed',
    meaning:
      'Runs the whole service on a built-in engine and registry, with containers and a stream of releases, some of them bad. Reaches no real engine and no network',
    takesNames: false,
    examples: [
      { line: 'upkeep demo', meaning: 'until Ctrl-C' },
      { line: 'upkeep demo --rounds 3', meaning: 'three rounds of releases, then end' },
    ],
  },
] as const satisfies readonly Command[];

export type CommandName = (typeof commands)[number]['name'];

/** The command of that name; undefined when there is none. */
export function commandNamed(name: string): (Command & { readonly name: CommandName }) | undefined {
  return commands.find((command) => command.name === name);
}
