/** A command: the first word of the command line. */
export type Command = {
  readonly name: string;
  /** Arguments after the command's name. */
  readonly usage: string;
  /** A sentence without a final period. */
  readonly meaning: string;
  /** The line the overview lists it with. */
  readonly summary: string;
  readonly takesNames: boolean;
  /** Exit codes, besides 2 for an invalid command line. */
  readonly exitCodes: readonly ExitCode[];
  readonly examples: readonly { readonly line: string; readonly meaning: string }[];
};

export type ExitCode = { readonly code: number; readonly meaning: string };

const doneOrFailed: readonly ExitCode[] = [
  { code: 0, meaning: 'done' },
  { code: 1, meaning: 'it could not be done, for the reason that is told' },
];

const ofUpdate: readonly ExitCode[] = [
  { code: 0, meaning: 'all is well' },
  { code: 1, meaning: 'a container failed or was rolled back, or nothing could be done at all' },
  { code: 3, meaning: 'nothing failed, but something could not be checked, or a repair is pending' },
];

export const commands = [
  {
    name: 'run',
    usage: '[NAME…]',
    summary: 'keep containers up to date: the service itself (the default)',
    meaning:
      'Checks the registries every --interval and replaces containers whose image has moved on. A successor must prove itself healthy, or the old container comes back',
    takesNames: true,
    exitCodes: [
      { code: 0, meaning: 'it was asked to stop; with --run-once, all is well' },
      { code: 1, meaning: 'it could not start; with --run-once also, a container failed or was rolled back' },
      {
        code: 3,
        meaning:
          'with --run-once: nothing failed, but something could not be checked, a repair is pending, or a NAME matches no container',
      },
    ],
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
    exitCodes: [
      { code: 0, meaning: 'done; with --exit-code, nothing newer is there' },
      { code: 1, meaning: 'it could not be done; with --exit-code also, something could not be checked' },
      { code: 10, meaning: 'with --exit-code: updates are available' },
    ],
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
    meaning: 'Checks, then replaces what is stale, in the order its dependencies ask for.',
    takesNames: true,
    exitCodes: ofUpdate,
    examples: [
      { line: 'upkeep update', meaning: 'all containers' },
      { line: 'upkeep update --dry-run', meaning: 'print the plan instead of carrying it out' },
      { line: 'upkeep update --dry-run --verify', meaning: 'and create the new containers aside, to compare them' },
      { line: "upkeep update web 'api-.*'", meaning: 'by name, or by a pattern for the whole name' },
    ],
  },
  {
    name: 'rollback',
    usage: 'NAME…',
    summary: 'go back to the image from before the last update',
    meaning:
      'Replaces containers by ones of the image that they ran before their last update, as safely as an update does; what moved together goes back together. The version that is left does not come back by itself, but with update --retry-failed or when its tag moves on; another rollback goes forward to it again',
    takesNames: true,
    exitCodes: ofUpdate,
    examples: [{ line: 'upkeep rollback web', meaning: 'one container' }],
  },
  {
    name: 'recover',
    usage: '',
    summary: 'finish or undo what interrupted updates left',
    meaning:
      'Finishes or undoes updates that were interrupted, as every start and run does, and says what became of each. With --unsealed also those whose journal has no seal of this key, by the name of the container',
    takesNames: false,
    exitCodes: [
      { code: 0, meaning: 'nothing is left to repair' },
      { code: 1, meaning: 'a repair failed, or could not be tried' },
      { code: 3, meaning: 'a repair is pending: its update may still be under way, or its journal has no seal' },
    ],
    examples: [
      { line: 'upkeep recover', meaning: 'what the next start would do' },
      { line: 'upkeep recover --unsealed web', meaning: 'also an update of web that was begun without the key' },
    ],
  },
  {
    name: 'containers',
    usage: '[NAME…]',
    summary: 'list what is watched, without asking any registry',
    meaning:
      'Lists the watched containers: as a running service knows them with --url, with what its last check found; else as the engine shows them',
    takesNames: true,
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep containers', meaning: "the engine's" },
      {
        line: 'upkeep containers --url=http://server:8080',
        meaning: "a running service's, with its token in UPKEEP_TOKEN",
      },
    ],
  },
  {
    name: 'history',
    usage: '',
    summary: 'list the past updates of a running service',
    meaning: 'Lists the updates that a running service has made since its start, oldest first; at most 500 are kept',
    takesNames: false,
    exitCodes: doneOrFailed,
    examples: [
      {
        line: 'upkeep history --url=http://server:8080',
        meaning: 'a row for each update; the token is in UPKEEP_TOKEN',
      },
    ],
  },
  {
    name: 'events',
    usage: '',
    summary: 'follow what a running service does',
    meaning:
      'Follows the events of a running service until Ctrl-C. A connection that is lost is made again, and what was missed is caught up on',
    takesNames: false,
    exitCodes: doneOrFailed,
    examples: [
      {
        line: 'upkeep events --url=http://server:8080',
        meaning: 'a line for each; the events token is in UPKEEP_TOKEN',
      },
      { line: 'upkeep events --json', meaning: 'a JSON document for each; the address is in UPKEEP_URL' },
    ],
  },
  {
    name: 'config',
    usage: '',
    summary: 'show every option, its value and where that came from',
    meaning:
      'Shows what "upkeep run" would work with, given the same options and variables; with --url what a running service works with. Secrets are not shown',
    takesNames: false,
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep config --cleanup', meaning: 'of this command line and environment' },
      { line: 'upkeep config --url=http://server:8080', meaning: 'of a running service' },
    ],
  },
  {
    name: 'demo',
    usage: '',
    summary: 'watch it work on an engine of its own: no Docker needed',
    meaning:
      'Runs the whole service on a built-in engine and registry, with containers and a stream of releases, some of them bad. Reaches no real engine and no network',
    takesNames: false,
    exitCodes: doneOrFailed,
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
