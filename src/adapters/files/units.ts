import { execFile } from 'node:child_process';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { imageIn, isServiceName, spliceImage, type UnitReading } from '../../domain/container/quadlet.ts';
import { isSame } from '../../domain/compose/compose-edit.ts';
import type { CallOutcome } from '../../domain/outside/engine.ts';
import type { UnitOrder, Units } from '../../domain/outside/outside.ts';
import { codeOf, messageWithoutPath } from '../../domain/text/errors.ts';
import { printable, quoted } from '../../domain/text/printable.ts';
import {
  hashOf,
  heldByEditor,
  isBelow,
  isInRoots,
  keepCopy,
  mendFile,
  readCopy,
  readText,
  rewriteFile,
  type Root,
  whyNotWritable,
} from './rewrite-file.ts';

type UnitsOptions = {
  readonly isInContainer: boolean;
  /** The socket of Podman, which belongs to the user whose containers it has. Undefined: it is on another machine. */
  readonly socket: string | undefined;
  /** The variables that `systemctl` gets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Undefined: no record of an update outlives this process. */
  readonly stateFolder: string | undefined;
  /** The folders whose files may be written; undefined: none. */
  readonly roots: readonly Root[] | undefined;
};

/**
 * Reads and restarts units of systemd with the program `systemctl`: of the system for the Podman of root, else of the
 * user that this process runs as. The creator of a container writes the name of its unit, so only a unit that Podman's
 * generator has made from a `.container` file in one of Podman's folders is one.
 */
export function openUnits(options: UnitsOptions): Units {
  const { environment } = options;
  let asking: Promise<Manager> | undefined;

  async function managerOf(): Promise<Manager> {
    const manager = await (asking ??= findManager(options));
    // The socket may come later.
    if (manager.kind === 'none') asking = undefined;
    return manager;
  }

  async function systemctl(words: readonly string[], maxMs = answerMs): Promise<Ran> {
    const manager = await managerOf();
    return manager.kind === 'none' ? { kind: 'failed', message: manager.why } : run(manager, words, environment, maxMs);
  }

  async function show(name: string, properties: readonly string[]) {
    const shown = await systemctl(['show', `--property=${properties.join(',')}`, '--', name]);
    return shown.kind === 'done' ? ({ kind: 'shown', properties: firstValues(shown.output) } as const) : shown;
  }

  return {
    async read(name) {
      const held = (why: string): UnitReading => ({ kind: 'held', why });
      if (!isServiceName(name)) return held(`${quoted(name, 100)} is no name of a service`);
      const manager = await managerOf();
      if (manager.kind === 'none') return held(manager.why);
      const shown = await show(name, shownProperties);
      if (shown.kind !== 'shown') return held(shown.message);
      const { properties } = shown;
      const [source = '', fragment = ''] = ['SourcePath', 'FragmentPath'].map((each) => properties.get(each));
      if (properties.get('LoadState') === 'not-found') return held(`${manager.called} does not have it`);
      const isGenerated = /\/systemd\/generator(?:\.early|\.late)?\/[^/]+$/.test(fragment);
      if (!isGenerated || !source.endsWith('.container') || !isClean(source))
        return held('it was not made from a .container file (Quadlet): update it with podman auto-update');
      if (
        !manager.folders.some((folder) => isBelow(source, folder)) ||
        manager.others.some((one) => isBelow(source, one))
      )
        return held(`its file ${quoted(source, 300)} is in none of the folders of Podman`);
      try {
        const file = await realpath(source);
        const text = await readOwn(file, manager.uid);
        const dropIns = await readDropIns(source, manager);
        return {
          kind: 'unit',
          properties,
          file,
          text,
          dropIns,
          whyNotWritten: await whyNotWritten(file, options.roots),
        };
      } catch (error) {
        return held(`its file cannot be read: ${messageWithoutPath(error)}`);
      }
    },
    async activeState(name) {
      const shown = isServiceName(name) ? await show(name, ['ActiveState']) : undefined;
      return shown?.kind === 'shown' ? shown.properties.get('ActiveState') : undefined;
    },
    async restart(name) {
      if (!isServiceName(name)) return refused(`${quoted(name, 100)} is no name of a service`);
      // It fails for a unit that has not failed.
      await systemctl(['reset-failed', '--', name]);
      return outcomeOf(await systemctl(['restart', '--', name], restartMs));
    },
    async write(order) {
      const written = await writeTag(order, options);
      if (written.kind !== 'done' && written.kind !== 'noop') return written;
      const reloaded = await systemctl(['daemon-reload'], reloadMs);
      return reloaded.kind === 'done' ? written : outcomeOf(reloaded);
    },
  };
}

const shownProperties = [
  ...['LoadState', 'ActiveState', 'SubState', 'SourcePath', 'FragmentPath', 'NeedDaemonReload', 'ExecStart'],
];

const answerMs = 15_000;

const reloadMs = 90_000;

/** The unit's own limits end before, unless they are off. */
const restartMs = 600_000;

type Manager =
  | { readonly kind: 'none'; readonly why: string }
  | {
      readonly kind: 'manager';
      readonly scope: '--system' | '--user';
      readonly called: string;
      /** Its files belong to this user or to root. */
      readonly uid: number;
      /** https://docs.podman.io/en/latest/markdown/podman-systemd.unit.5.html */
      readonly folders: readonly string[];
      /** Folders within these whose units another manager has. */
      readonly others: readonly string[];
    };

async function findManager({ isInContainer, socket, stateFolder, environment }: UnitsOptions): Promise<Manager> {
  const none = (why: string): Manager => ({ kind: 'none', why });
  const orElse = 'update it with podman auto-update, or run Upkeep on the host';
  if (isInContainer) return none(`Upkeep runs in a container, from where it cannot reach systemd: ${orElse}`);
  if (socket === undefined) return none(`the engine is on another machine: ${orElse}`);
  if (stateFolder === undefined) return none('Upkeep has no folder for a record of its restart: set --state-dir');
  const own = process.geteuid?.();
  if (own === undefined) return none('this machine has no systemd');
  const owner = await stat(socket).then(
    ({ uid }) => uid,
    () => undefined,
  );
  if (owner === undefined) return none('the socket of Podman cannot be seen');
  if (owner !== own)
    return none(`its Podman is that of ${owner === 0 ? 'root' : `the user ${owner}`}: run Upkeep as that user`);
  const shared = ['/etc/containers/systemd', '/usr/share/containers/systemd'];
  if (own === 0)
    return {
      kind: 'manager',
      scope: '--system',
      called: 'systemd',
      uid: 0,
      folders: [...shared, '/run/containers/systemd'],
      others: shared.map((folder) => `${folder}/users`),
    };
  const { XDG_RUNTIME_DIR, XDG_CONFIG_HOME, HOME } = environment;
  const config = XDG_CONFIG_HOME || (HOME && join(HOME, '.config'));
  const personal = [XDG_RUNTIME_DIR, config].flatMap((folder) => (folder ? [join(folder, 'containers/systemd')] : []));
  return {
    kind: 'manager',
    scope: '--user',
    called: 'the systemd of this user',
    uid: own,
    folders: [...personal, ...shared.map((folder) => `${folder}/users`)],
    others: [],
  };
}

type Ran =
  | { readonly kind: 'done'; readonly output: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** It was ended before its answer. */
  | { readonly kind: 'unknown'; readonly message: string };

/** Without a shell. The last words come after `--`, so that none is an option. */
function run(
  { scope, called }: Extract<Manager, { readonly kind: 'manager' }>,
  words: readonly string[],
  environment: UnitsOptions['environment'],
  maxMs: number,
): Promise<Ran> {
  const args = [scope, '--no-pager', '--no-ask-password', ...words];
  const env = { ...environment, LC_ALL: 'C', SYSTEMD_COLORS: '0' };
  const options = { env, timeout: maxMs, killSignal: 'SIGKILL', maxBuffer: maxOutput, encoding: 'utf8' } as const;
  return new Promise((resolve) => {
    execFile('systemctl', args, options, (error, stdout, stderr) => {
      if (error === null) return resolve({ kind: 'done', output: stdout });
      if (codeOf(error) === 'ENOENT')
        return resolve({ kind: 'failed', message: 'the program systemctl is missing: run Upkeep beside systemd' });
      const said = printable(stderr.trim().split('\n').slice(0, 3).join(' '), 300);
      if (error.killed === true || typeof error.code !== 'number')
        return resolve({ kind: 'unknown', message: `${called} did not answer in time` });
      resolve({ kind: 'failed', message: said === '' ? `${called} has refused it` : said });
    });
  });
}

const maxOutput = 1024 * 1024;

function outcomeOf(ran: Ran): CallOutcome {
  if (ran.kind === 'failed') return refused(ran.message);
  return ran.kind === 'done' ? { kind: 'done' } : ran;
}

function refused(message: string): CallOutcome {
  return { kind: 'refused', status: 0, message };
}

/** Values may have more lines, and a command may have one that looks like a property. */
function firstValues(output: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of output.split('\n')) {
    const [, name, value = ''] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    // A unit with two commands, or with two values of what has one, is none of Quadlet's.
    found.set(name, found.has(name) ? '' : value);
  }
  return found;
}

function isClean(path: string): boolean {
  return isAbsolute(path) && !path.includes('\0') && join(path) === path;
}

/** Throws if it cannot be read, or if somebody else may write it. */
async function readOwn(file: string, uid: number): Promise<string> {
  for (const path of [file, dirname(file)]) {
    const { mode, uid: owner, gid } = await stat(path);
    const isSharedGroup = (mode & 0o020) !== 0 && gid !== 0 && gid !== process.getegid?.();
    if ((owner !== 0 && owner !== uid) || (mode & 0o002) !== 0 || isSharedGroup)
      throw new Error(`others may write ${quoted(path, 300)}`);
  }
  const text = await readText(file);
  if (text === undefined) throw new Error('it is no regular file of text of a usual size');
  return text;
}

/** The files of `web.container.d`, and of `container.d` and `web-.container.d` for all units of such names. */
async function readDropIns(source: string, { folders, uid }: Extract<Manager, { readonly kind: 'manager' }>) {
  const stem = basename(source, '.container');
  const parts = stem.split('-');
  const names = [
    `${stem}.container.d`,
    ...parts.slice(0, -1).map((_, index) => `${parts.slice(0, index + 1).join('-')}-.container.d`),
    ...(stem.includes('@') ? [`${stem.slice(0, stem.indexOf('@') + 1)}.container.d`] : []),
    'container.d',
  ];
  const places = [...new Set([dirname(source), ...folders])].flatMap((folder) =>
    names.map((name) => join(folder, name)),
  );
  const texts: string[] = [];
  for (const place of places.slice(0, maxPlaces)) {
    const files = (await readdir(place).catch(emptyIfMissing)).filter((name) => name.endsWith('.conf'));
    if (files.length > maxDropIns) throw new Error('it has too many drop-ins');
    for (const name of files) texts.push(await readOwn(await realpath(join(place, name)), uid));
  }
  return texts;
}

const maxPlaces = 100;
const maxDropIns = 50;

function emptyIfMissing(error: unknown): readonly string[] {
  if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
  throw error;
}

async function whyNotWritten(file: string, roots: UnitsOptions['roots']): Promise<string | undefined> {
  if (roots === undefined) return 'Upkeep may not write its file without --compose-files write';
  if (roots.length === 0 || !(await isInRoots(file, roots)))
    return `Upkeep may not write its file: ${quoted(file, 300)} is below none of --compose-roots`;
  const reason = await whyNotWritable(file);
  return reason === undefined ? undefined : `its file cannot be written (${reason})`;
}

async function writeTag(order: UnitOrder, { roots, stateFolder = '' }: UnitsOptions): Promise<CallOutcome> {
  const { id, file, from, to, interrupted, onWriting } = order;
  const fault = (why: string) => refused(`its file ${quoted(file, 300)} ${why}`);
  const copies = join(stateFolder, 'unit-copies');
  try {
    // Once it was written below a root, its way back needs none.
    const why = interrupted === undefined ? await whyNotWritten(file, roots) : undefined;
    if (why !== undefined) return refused(why);
    if ((await realpath(file)) !== file) return fault('is another one now');
    if (interrupted !== undefined) await mend(order, copies);
    const text = await readText(file);
    if (text === undefined) return fault('is no text of a usual size');
    const image = imageIn(text);
    if (image !== undefined && isSame(image, to)) return { kind: 'noop' };
    const spliced = spliceImage(text, from, to);
    if ('fault' in spliced) return refused(spliced.fault);
    const mark = await heldByEditor(file);
    if (mark !== undefined) return fault(`is open in an editor (${basename(mark)})`);
    const [before, after] = [Buffer.from(text), Buffer.from(spliced.text)];
    // The copy of the first change is the one that a later start needs.
    if (interrupted === undefined) await keepCopy(copies, id, before);
    await onWriting({ before: hashOf(before), after: hashOf(after) });
    const done = await rewriteFile(file, before, after);
    if (done.kind === 'written') return { kind: 'done' };
    if (done.kind === 'lost') return { kind: 'unknown', message: `its file could not be written: ${done.error}` };
    return fault(`could not be written: ${done.kind === 'refused' ? done.reason : done.error}`);
  } catch (error) {
    return fault(`could not be written: ${messageWithoutPath(error)}`);
  }
}

/** A write that the end of a process has cut off leaves a mixture of two texts. It gets the first of them back. */
async function mend({ id, file, from, to, interrupted }: UnitOrder, copies: string): Promise<void> {
  const before = await readCopy(copies, id);
  if (before === undefined || hashOf(before) !== interrupted?.before) return;
  const spliced = spliceImage(before.toString(), to, from);
  if ('fault' in spliced) return;
  await mendFile({ path: file, before, after: Buffer.from(spliced.text), end: before });
}
