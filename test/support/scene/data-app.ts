import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineClient, Inspected } from '../../lab/engine/engine-client.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { pushImage } from '../../lab/registry/push.ts';

/**
 * A program with data in a named volume, a folder of the host and an anonymous volume. Version 1 ends unless all three
 * are exactly its own, and writes a token into each at every start and stop; it also leaves each token in a folder that
 * no update copies. Version 2 rewrites everything. Both sync what they write, as a database does: a power cut must not
 * undo a migration, because data that were not restored would look as if they were.
 */
const wrong = 'wrong() { echo "$1" >&2; exit $2; }';

/** Stays until it is stopped. */
const stay = 'sleep 1000000 & wait $!';

function v1(places: string): string {
  return `${wrong}
note() { t=t-$(cat /proc/sys/kernel/random/uuid); for p in ${places}; do echo $t >>$p/tokens; busybox sync $p/tokens; done; : >/outside/$t; }
for p in ${places}; do
  if [ ! -e /outside/started ]; then
    mkdir $p/sub; echo v1 >$p/version; echo of-v1 >$p/file; echo old >$p/sub/old; : >$p/tokens
    chmod 640 $p/file; chmod 701 $p/sub; chmod 1770 $p; chown 1234:4321 $p/file
  fi
  [ "$(cat $p/version)" = v1 ] || wrong "another version in $p" 21
  [ "$(cat $p/file)" = of-v1 ] || wrong "another file in $p" 22
  [ "$(cat $p/sub/old)" = old ] || wrong "a file is missing in $p" 23
  [ ! -e $p/new ] || wrong "a file too many in $p" 24
  for t in /outside/t-*; do
    [ ! -e $t ] || grep -q \${t#/outside/} $p/tokens || wrong "\${t#/outside/} is missing in $p" 25
  done
done
: >/outside/started
note
read -r stat </proc/1/stat
set -- \${stat##*) }
echo \${20} >/outside/ready-\${20}
trap 'note; exit 0' TERM
${stay}`;
}

function v2(places: string, end: string): string {
  return `${wrong}
for p in ${places}; do
  case "$(cat $p/version)" in
    v1) echo of-v2 >$p/file; rm -r $p/sub; : >$p/new; chmod 600 $p/tokens; chmod 755 $p; echo v2 >$p/version; busybox sync -f $p ;;
    v2) [ "$(cat $p/file)" = of-v2 ] && [ ! -e $p/sub ] || wrong "mixed data in $p" 31 ;;
    *) wrong "unknown data in $p" 32 ;;
  esac
done
trap 'exit 0' TERM
${end}`;
}

const applets = {
  Env: ['PATH=/bin'],
  Volumes: { '/anon': {} },
};

function app(version: string, script: string): ImageSpec {
  return webServer(version, { ...applets, Cmd: ['sh', '-c', script] });
}

const all = '/data /bind /anon';

/** `bad` migrates the data and ends with code 3. */
export const dataApp = {
  v1: app('v1', v1(all)),
  v2: app('v2', v2(all, stay)),
  bad: app('bad', v2(all, 'echo "migration failed" >&2; exit 3')),
  /** With the named volume only. */
  'small-v1': webServer('small-v1', { Env: ['PATH=/bin'], Cmd: ['sh', '-c', v1('/data')] }),
  'small-v2': webServer('small-v2', { Env: ['PATH=/bin'], Cmd: ['sh', '-c', v2('/data', stay)] }),
  /** Ends after a while, so that something can happen while it runs. */
  'small-late-bad': webServer('small-late-bad', {
    Env: ['PATH=/bin'],
    Cmd: ['sh', '-c', v2('/data', 'sleep 3; exit 3')],
  }),
  /** Migrates, waits for /outside/go, and fills the disk. */
  'small-full': webServer('small-full', {
    Env: ['PATH=/bin'],
    Cmd: [
      'sh',
      '-c',
      v2(
        '/data',
        'until [ -e /outside/go ]; do sleep 0.1; done; cat /dev/zero >/data/fill; echo "disk full" >&2; exit 3',
      ),
    ],
  }),
  /** Migrates, waits for /outside/go, and fails. */
  'small-waiting-bad': webServer('small-waiting-bad', {
    Env: ['PATH=/bin'],
    Cmd: ['sh', '-c', v2('/data', 'until [ -e /outside/go ]; do sleep 0.1; done; exit 3')],
  }),
  'small-bad': webServer('small-bad', { Env: ['PATH=/bin'], Cmd: ['sh', '-c', v2('/data', 'exit 3')] }),
} as const satisfies Readonly<Record<string, ImageSpec>>;

const helperRepository = 'data/helper';

/** Pushes and pulls the image for `--data-image`. Returns its reference. */
export async function provideDataHelper(
  engine: EngineClient,
  registryHost: string,
  spec: ImageSpec,
  tag = 'stable',
): Promise<string> {
  const reference = `${registryHost}/${helperRepository}:${tag}`;
  const pushing = pushed.get(reference) ?? pushImage({ url: `http://${registryHost}` }, helperRepository, tag, spec);
  pushed.set(reference, pushing);
  await pushing;
  await engine.pull(reference);
  return reference;
}

/** The registry answers a pull with 500 while another engine's test writes the same tag. */
const pushed = new Map<string, Promise<unknown>>();

/** Folders of the host for one container: `bind` may be copied, `outside` not. Both are empty. */
export function dataFolders(
  dir: string,
  name = 'web',
): { readonly allowed: string; readonly binds: readonly string[] } {
  const [allowed, outside] = [join(dir, 'srv'), join(dir, `outside-${name}`)];
  for (const folder of [join(allowed, name), outside]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  return { allowed, binds: [`${join(allowed, name)}:/bind`, `${outside}:/outside`] };
}

/**
 * Every entry of the data with owner, mode, time and content, as text. Times and content of tokens change with each
 * start.
 */
export function describeData({ Mounts }: Pick<Inspected, 'Mounts'>): string {
  const places = Mounts.filter(({ Destination }) => Destination !== '/outside');
  const texts = places.map(({ Destination, Source }) => `${String(Destination)}\n${describeTree(String(Source))}`);
  return texts.toSorted().join('\n');
}

function describeTree(root: string): string {
  const entries = ['.', ...readdirSync(root, { recursive: true, encoding: 'utf8' })].toSorted();
  return entries
    .map((path) => {
      const stat = lstatSync(join(root, path), { bigint: true });
      const facts = [path, stat.mode.toString(8), stat.uid, stat.gid, stat.nlink];
      if (path === 'tokens') return facts.join(' ');
      const content = stat.isFile()
        ? readFileSync(join(root, path), 'utf8')
        : stat.isSymbolicLink()
          ? readlinkSync(join(root, path))
          : '';
      return [...facts, stat.mtimeNs, JSON.stringify(content)].join(' ');
    })
    .join('\n');
}

/** Volumes of Upkeep that are left in the engine. */
export async function leftVolumes(engine: EngineClient): Promise<readonly string[]> {
  const { body } = await engine.call('GET', '/volumes');
  const { Volumes } = body as { readonly Volumes: readonly { readonly Name: string }[] | null };
  return (Volumes ?? []).map(({ Name }) => Name).filter((name) => name.startsWith('upkeep-'));
}

/** Marks of helpers that are left. Podman also lists the former names of an image. */
export async function leftMarks(engine: EngineClient): Promise<readonly string[]> {
  const { body } = await engine.call('GET', '/images/json');
  const tags = (body as { readonly RepoTags: readonly string[] | null }[]).flatMap(({ RepoTags }) => RepoTags ?? []);
  return tags.filter((tag) => tag.includes('upkeep-open:'));
}

/**
 * Whether version 1 has accepted its data in its present process: it leaves the start time of its process outside.
 * Engines note the time of a start too late for a comparison.
 */
export function hasAccepted({ State }: Pick<Inspected, 'State'>, outside: string): boolean {
  const ready = readdirSync(outside).filter((file) => file.startsWith('ready-'));
  // A container that its policy starts again and again runs, and has no process.
  const file = `/proc/${State.Pid}/stat`;
  const stat = State.Running && State.Pid > 0 && existsSync(file) ? readFileSync(file, 'utf8') : '';
  const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  return ready.some((file) => readFileSync(join(outside, file), 'utf8').trim() === startedAt);
}
