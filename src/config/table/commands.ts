import { nearest } from '../../domain/text/name-pattern.ts';

/** A command: the first word of the command line. */
export type Command = {
  readonly name: string;
  /** Arguments after the command's name; empty if it takes none. */
  readonly usage: string;
  /** A sentence without a final period. */
  readonly meaning: string;
  /** The line in the overview. */
  readonly summary: string;
  /** Other names of the command. */
  readonly aliases?: readonly string[];
  /** The possible arguments. Without them the arguments are names of containers. */
  readonly operands?: readonly string[];
  /** Exit codes, besides 2 for an invalid command line. */
  readonly exitCodes: readonly ExitCode[];
  readonly examples: readonly { readonly line: string; readonly meaning: string }[];
};

export type ExitCode = { readonly code: number; readonly meaning: string };

const doneOrFailed: readonly ExitCode[] = [
  { code: 0, meaning: 'done' },
  { code: 1, meaning: 'it failed; the message gives the reason' },
];

const ofUpdate: readonly ExitCode[] = [
  { code: 0, meaning: 'all updates succeeded' },
  { code: 1, meaning: 'a container failed or was rolled back, or the command failed' },
  { code: 3, meaning: 'nothing failed, but something could not be checked, or a repair is pending' },
];

const ofDecision: readonly ExitCode[] = [
  { code: 0, meaning: 'decided, and stored' },
  { code: 1, meaning: 'a decision failed or could not be stored; the message gives the reason' },
];

export const commands = [
  {
    name: 'run',
    usage: '[NAME…]',
    summary: 'keep containers up to date: the service itself (the default)',
    meaning:
      'Checks the registries every --interval and replaces containers that have a newer image. A new container that fails its health check is rolled back',
    exitCodes: [
      { code: 0, meaning: 'stopped on request; with --run-once, all updates succeeded' },
      {
        code: 1,
        meaning:
          'with --run-once, a container failed or was rolled back; or it could not start, for example because of a wrong value',
      },
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
    summary: 'list available updates and change nothing',
    meaning:
      'Checks the registries once, lists the containers that have a newer image, and gives the reason for all others. Changes nothing and pulls nothing',
    exitCodes: [
      { code: 0, meaning: 'done; with --exit-code: no updates are available' },
      { code: 1, meaning: 'it failed; the message gives the reason' },
      { code: 3, meaning: 'something could not be checked' },
      { code: 10, meaning: 'with --exit-code: updates are available' },
    ],
    examples: [
      { line: 'upkeep check', meaning: 'a table of all containers' },
      { line: 'upkeep check --image nginx --json', meaning: 'containers of nginx, as JSON' },
      { line: 'upkeep check --exit-code', meaning: 'exit with 10 if updates are available' },
    ],
  },
  {
    name: 'update',
    usage: '[NAME…]',
    summary: 'update now, once',
    meaning: 'Checks the registries, then replaces outdated containers in the order of their dependencies',
    exitCodes: ofUpdate,
    examples: [
      { line: 'upkeep update', meaning: 'all containers' },
      { line: 'upkeep update --dry-run', meaning: 'print the plan only' },
      { line: 'upkeep update --dry-run --verify', meaning: 'also create the new containers, compare and remove them' },
      { line: "upkeep update web 'api-.*'", meaning: 'by name, or by a pattern that matches the whole name' },
    ],
  },
  {
    name: 'rollback',
    usage: 'NAME…',
    summary: 'go back to the image from before the last update',
    meaning:
      'Rolls containers back to the image before their last update, with the same protocol as an update. A group that was updated together is rolled back together. The version that it leaves is not applied again until its tag moves; to apply it anyway, use update --retry-failed. A second rollback would go forward again, so it asks',
    exitCodes: [
      { code: 0, meaning: 'all rollbacks succeeded' },
      { code: 1, meaning: 'a rollback failed or was rolled back itself, or the command failed' },
      {
        code: 3,
        meaning: 'nothing failed, but a container could not be checked or was left as it is, or a repair is pending',
      },
    ],
    examples: [
      { line: 'upkeep rollback web', meaning: 'one container' },
      { line: 'upkeep rollback web --yes', meaning: 'also if this goes forward again' },
    ],
  },
  {
    name: 'recover',
    usage: '[NAME…]',
    summary: 'finish or undo interrupted updates',
    meaning:
      'Finishes or undoes interrupted updates, as every start and run does, and reports the result of each. With --unsealed NAME, also the update of this container if its journal has no seal of this key. --keep-new and --without-data end an update whose data cannot be put back',
    exitCodes: [
      { code: 0, meaning: 'nothing is left to repair' },
      { code: 1, meaning: 'a repair failed, or could not be tried' },
      { code: 3, meaning: 'a repair is pending: its update may still be running, or its journal has no seal' },
    ],
    examples: [
      { line: 'upkeep recover', meaning: 'the repair of the next start, now' },
      { line: 'upkeep recover --unsealed web', meaning: 'also an update of web that was begun without the key' },
      { line: 'upkeep recover web --keep-new', meaning: 'keep the new version of web, on its data' },
    ],
  },
  {
    name: 'data',
    usage: '[list|remove] [NAME…]',
    summary: 'list and remove kept copies of data',
    meaning:
      'list: lists the copies of data that --data-keep has kept, with size and time. remove: removes those of the named containers; rollback cannot put them back then',
    operands: ['list', 'remove'],
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep data list', meaning: 'all copies' },
      { line: 'upkeep data remove web', meaning: 'the copy of web' },
    ],
  },
  {
    name: 'approve',
    usage: 'NAME…',
    summary: 'approve a new version that waits for it',
    meaning:
      'Checks the registries for the named containers and approves the new version that is found, for its digest only. The service of the same --state-dir, or that of --url, applies it in its next update',
    exitCodes: ofDecision,
    examples: [
      { line: 'upkeep approve web --state-dir /data', meaning: 'for the service with the same folder' },
      { line: 'upkeep approve web --url http://server', meaning: 'at a running service; the token is in UPKEEP_TOKEN' },
    ],
  },
  {
    name: 'skip',
    usage: 'NAME…',
    summary: 'skip one new version',
    meaning:
      'Holds the new version of the named containers back until there is another one. The version after it is applied as usual',
    exitCodes: ofDecision,
    examples: [{ line: 'upkeep skip web', meaning: 'this version never' }],
  },
  {
    name: 'snooze',
    usage: 'NAME…',
    summary: 'hold a new version back for a time',
    meaning: 'Holds the new version of the named containers back for a time, 7d unless --for says otherwise',
    exitCodes: ofDecision,
    examples: [{ line: 'upkeep snooze web --for 3d', meaning: 'ask again in three days' }],
  },
  {
    name: 'unskip',
    usage: 'NAME…',
    summary: 'withdraw an approval, a skip or a snooze',
    meaning: 'Withdraws the decision about the new version of the named containers',
    exitCodes: ofDecision,
    examples: [{ line: 'upkeep unskip web', meaning: 'as if nothing had been decided' }],
  },
  {
    name: 'containers',
    aliases: ['status', 'ps', 'ls', 'list'],
    usage: '[NAME…]',
    summary: 'list the watched containers, without a check (also: status, ps, ls, list)',
    meaning:
      'Lists the watched containers with the last check of the running service with the same --state-dir, or of that of --url. Without a service, lists the containers of the engine',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep containers', meaning: 'containers of the engine' },
      {
        line: 'upkeep containers --url=http://server:8080',
        meaning: 'containers of a running service; the token is in UPKEEP_TOKEN',
      },
    ],
  },
  {
    name: 'history',
    usage: '',
    summary: 'list the past updates',
    meaning:
      'Lists the last 500 updates that are stored in the folder of --state-dir, oldest first. With --url, those of a running service',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'docker exec upkeep upkeep history', meaning: 'in the container of the service' },
      { line: 'upkeep history --url=http://server:8080', meaning: 'one row per update; the token is in UPKEEP_TOKEN' },
    ],
  },
  {
    name: 'events',
    usage: '',
    summary: 'follow the events of a running service',
    meaning:
      'Follows the events of the running service with the same --state-dir, or of that of --url, until Ctrl-C. After a lost connection it reconnects and prints the missed events',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'docker exec upkeep upkeep events', meaning: 'in the container of the service' },
      {
        line: 'upkeep events --url=http://server:8080',
        meaning: 'one line per event; the events token is in UPKEEP_TOKEN',
      },
      { line: 'upkeep events --json', meaning: 'one JSON document per event; the URL is in UPKEEP_URL' },
    ],
  },
  {
    name: 'notes',
    usage: 'NAME',
    summary: 'show what changes with the newer version of a container',
    meaning:
      'Shows the release notes between the version of a container and its newer version, as the running service with the same --state-dir, or that of --url, has read them. Without a service, checks the container and reads them now',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep notes photos', meaning: 'what breaks, and what is new' },
      { line: 'upkeep notes photos --json', meaning: 'the whole notes as a document' },
    ],
  },
  {
    name: 'notify',
    usage: '[list|test|preview|upgrade] [TARGET…]',
    summary: 'list, test, preview and convert notifications',
    meaning:
      'list: lists the targets, with --state-dir also the waiting messages. test: sends a message to all targets or to the named ones, and prints the answers of the services. preview: prints the messages of a simulated run. upgrade: prints URLs that replace the deprecated options, secrets included',
    operands: ['list', 'test', 'preview', 'upgrade'],
    exitCodes: [
      { code: 0, meaning: 'done' },
      { code: 1, meaning: 'a service refused the message, or a URL or the template is invalid' },
    ],
    examples: [
      { line: 'upkeep notify test', meaning: 'all targets in UPKEEP_NOTIFICATION_URL' },
      { line: 'upkeep notify test ops', meaning: 'the target ops=discord://…' },
      { line: 'upkeep notify preview', meaning: 'with --template FILE, to try a template' },
    ],
  },
  {
    name: 'config',
    usage: '',
    summary: 'show each option, its value and its source',
    meaning:
      'Shows the configuration that "upkeep run" would use with the same options and variables. With --url, shows the configuration of a running service. Secrets are hidden',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep config --cleanup', meaning: 'for this command line and environment' },
      { line: 'upkeep config --url=http://server:8080', meaning: 'of a running service' },
    ],
  },
  {
    name: 'token',
    usage: '',
    summary: 'show the token of the page and the API',
    meaning:
      'Prints the token that the service with the same --state-dir has made at its first start, or the one of --http-api-token',
    exitCodes: doneOrFailed,
    examples: [{ line: 'docker exec upkeep upkeep token', meaning: 'in the container of the service' }],
  },
  {
    name: 'password',
    usage: '',
    summary: 'set a password for the page',
    meaning:
      'Asks for a password, or reads a line of standard input, and writes its hash to --password-file, else to --state-dir, else to standard output. The running service uses it at once',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'docker exec -it upkeep upkeep password', meaning: 'in the container of the service' },
      { line: 'upkeep password > upkeep-password', meaning: 'a file for --password-file' },
    ],
  },
  {
    name: 'demo',
    usage: '',
    summary: 'watch Upkeep work on a simulated engine: no Docker needed',
    meaning:
      'Runs the whole service on a simulated engine and registry, with containers and a stream of good and bad releases. Uses no real engine and no network',
    exitCodes: doneOrFailed,
    examples: [
      { line: 'upkeep demo', meaning: 'until Ctrl-C' },
      { line: 'upkeep demo --page', meaning: 'watch it in a browser' },
      { line: 'upkeep demo --rounds 3', meaning: 'three rounds of releases, then end' },
    ],
  },
  {
    name: 'completion',
    usage: 'bash|zsh|fish',
    summary: 'print a script that completes commands and options',
    meaning:
      'Prints a script for a shell. With it, the Tab key completes commands, options, their values and names of containers',
    operands: ['bash', 'zsh', 'fish'],
    exitCodes: [{ code: 0, meaning: 'done' }],
    examples: [
      { line: 'source <(upkeep completion bash)', meaning: 'in ~/.bashrc; the same with zsh in ~/.zshrc' },
      { line: 'upkeep completion fish | source', meaning: 'in ~/.config/fish/config.fish' },
    ],
  },
] as const satisfies readonly Command[];

/** The commands with which people decide about new versions. */
export const decisionCommands = ['approve', 'skip', 'snooze', 'unskip'] as const satisfies readonly CommandName[];

/** The commands that look for new versions, and must find the same ones with the same options. */
export const checkingCommands = ['run', 'check', 'update', 'notes', ...decisionCommands] as const;

export const commandsWithSettings = [
  'run',
  'check',
  'update',
  'rollback',
  'recover',
  'data',
  'containers',
  'history',
  'events',
  'notes',
  'notify',
  'config',
  'token',
  'password',
  'demo',
  ...decisionCommands,
] as const satisfies readonly CommandName[];

export type CommandName = (typeof commands)[number]['name'];

/** The command with that name or alias; undefined without one. */
export function commandNamed(name: string): (Command & { readonly name: CommandName }) | undefined {
  const all: readonly (Command & { readonly name: CommandName })[] = commands;
  return all.find((command) => command.name === name || command.aliases?.includes(name));
}

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
