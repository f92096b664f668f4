import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import type { ImageSpec } from '../lab/registry/image.ts';
import { leftVolumes, provideDataHelper } from '../support/scene/data-app.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

const rounds = Number(process.env['DATABASE_ROUNDS'] ?? 1);
const postgres = '/usr/lib/postgresql/15/bin';

const tools = ['/usr/bin/dash', '/usr/bin/chmod', '/usr/bin/rm', '/usr/bin/setpriv', '/usr/bin/sleep', '/etc/passwd'];

/** A server of PostgreSQL does not run as root. `$0` is its script. */
const asNobody = 'chmod 777 /data; exec setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/dash -c "$0"';

type Database = {
  readonly name: string;
  /** Its programs of Debian. */
  readonly files: readonly string[];
  /** Version 1 under write load: it writes each number into /outside/committed once its row is committed. */
  readonly works: string;
  /** A new version that migrates the data, and ends with code 3. */
  readonly migratesAndFails: string;
  /** The numbers in the database. Throws if its own check finds damage. */
  readonly read: (paths: { readonly data: string; readonly outside: string }) => readonly number[];
};

const server = `postgres -D /data/db -c listen_addresses= -c unix_socket_directories=/outside >/outside/log 2>&1`;
const psql = 'psql -qAt -h /outside -U app -d postgres';

const postgresql: Database = {
  name: 'PostgreSQL',
  files: [
    ...['initdb', 'pg_isready', 'postgres', 'psql'].map((name) => `${postgres}/${name}`),
    ...['amcheck', 'dict_snowball', 'plpgsql'].map((name) => join(postgres, `../lib/${name}.so`)),
    '/usr/share/postgresql/15',
  ],
  works: `
cd /outside; export PATH=${postgres}:/usr/bin
[ -e /data/migrated ] && { echo "migrated data" >&2; exit 9; }
[ -e /data/db/PG_VERSION ] || initdb -D /data/db -U app -A trust >/dev/null
rm -f /data/db/postmaster.pid
${server} &
server=$!
until pg_isready -q -h /outside; do sleep 0.05; done
${psql} -c 'CREATE TABLE IF NOT EXISTS rows (n int PRIMARY KEY, t text)'
n=$(${psql} -c 'SELECT coalesce(max(n), 0) FROM rows')
(while :; do n=$((n + 1)); ${psql} -c "INSERT INTO rows VALUES ($n, repeat('x', 500))" && echo $n >>committed || sleep 0.1; done) &
writer=$!
trap 'kill -INT $server; wait $server; kill $writer; exit 0' TERM
wait $server; wait $server`,
  migratesAndFails: `
cd /outside; export PATH=${postgres}:/usr/bin
${server} &
server=$!
until pg_isready -q -h /outside; do sleep 0.05; done
${psql} -c "ALTER TABLE rows RENAME TO things" -c "UPDATE things SET t = 'migrated'" -c "DELETE FROM things WHERE n % 2 = 0" -c "VACUUM FULL"
: >/data/migrated
kill -INT $server; wait $server
echo "migration failed" >&2; exit 3`,
  read: ({ outside }) => {
    const ask = (...args: readonly string[]) =>
      execFileSync(`${postgres}/psql`, ['-qAt', '-h', outside, '-U', 'app', '-d', 'postgres', ...args], {
        encoding: 'utf8',
      });
    ask('-c', 'CREATE EXTENSION IF NOT EXISTS amcheck');
    const check = ['-h', outside, '-U', 'app', '-d', 'postgres', '--heapallindexed'];
    expect(execFileSync(`${postgres}/pg_amcheck`, check, { encoding: 'utf8' })).toBe('');
    return ask('-c', 'SELECT n FROM rows ORDER BY n').trim().split('\n').map(Number);
  },
};

/** A second connection stays open, so that the log is not written back into the database before the stop. */
const sqlite: Database = {
  name: 'SQLite in WAL mode',
  files: ['/usr/bin/sqlite3'],
  works: `
cd /outside; export PATH=/usr/bin
[ "$(sqlite3 /data/app.db 'PRAGMA user_version')" -le 1 ] || { echo "migrated data" >&2; exit 9; }
sqlite3 /data/app.db 'PRAGMA journal_mode = WAL; PRAGMA user_version = 1; CREATE TABLE IF NOT EXISTS rows (n INTEGER PRIMARY KEY, t TEXT)' >log
(echo 'SELECT count(*) FROM rows;'; sleep 1000000) | sqlite3 /data/app.db >log &
n=$(sqlite3 /data/app.db 'SELECT coalesce(max(n), 0) FROM rows')
(while :; do n=$((n + 1)); sqlite3 /data/app.db ".timeout 5000" "INSERT INTO rows VALUES ($n, hex(randomblob(200)))" && echo $n >>committed; done) &
trap 'exit 0' TERM
sleep 1000000 & wait $!`,
  migratesAndFails: `
cd /outside; export PATH=/usr/bin
sqlite3 /data/app.db 'ALTER TABLE rows RENAME TO things; DELETE FROM things WHERE n % 2 = 0; PRAGMA user_version = 2; PRAGMA journal_mode = DELETE; VACUUM' >log
echo "migration failed" >&2; exit 3`,
  read: ({ data }) => {
    const ask = (sql: string) =>
      execFileSync('/usr/bin/sqlite3', [join(data, 'app.db'), '.timeout 5000', sql], { encoding: 'utf8' }).trim();
    expect(ask('PRAGMA integrity_check')).toBe('ok');
    return ask('SELECT n FROM rows ORDER BY n').split('\n').map(Number);
  },
};

describeInLab('a database under write load', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'databases');
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());

  const canRun = existsSync(`${postgres}/pg_amcheck`) && existsSync('/usr/bin/sqlite3');

  describe.skipIf(!canRun).each([postgresql, sqlite])('$name', ({ works, migratesAndFails, read, name, files }) => {
    test('has every committed row after a migration that failed, and is undamaged', async () => {
      const outside = join(lab.dir, name.slice(0, 3));
      const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
      rmSync(outside, { recursive: true, force: true });
      mkdirSync(outside);
      chmodSync(outside, 0o777);
      // The volume `/data` is the only thing that is copied.
      const image = (version: string, script: string): ImageSpec => ({
        ...webServer(version, { Cmd: ['/usr/bin/dash', '-c', asNobody, script], Env: ['PATH=/usr/bin'] }),
        empty: true,
        hasTools: true,
        copied: [...tools, ...files],
      });
      const binds = ['kept:/data', `${outside}:/outside`];
      const config = {
        Labels: { 'upkeep.data': '/data' },
        StopTimeout: 20,
        HostConfig: { RestartPolicy: { Name: 'unless-stopped' }, Binds: binds },
      };
      const first = await scene.run('db', { old: image('v1', works), config });
      const data = String(first.Mounts.find(({ Destination }) => Destination === '/data')?.Source);
      for (let round = 1; round <= rounds; round += 1) {
        await written(outside, 20);
        await scene.push('db', image(`v2-${round}`, migratesAndFails));
        const { outcomes, run } = await upkeep.update(
          '--data-image',
          helper,
          '--health-window',
          '15s',
          '--retry-failed',
          'db',
        );
        expect(outcomes['db'], run.stdout + run.stderr).toMatchObject({
          outcome: 'rolled_back',
          reason: expect.stringContaining('its data restored'),
        });
        const { Id, State } = await scene.inspect('db');
        expect([Id, State.Running]).toEqual([first.Id, true]);
        await written(outside, 5);
        const confirmed = committed(outside);
        const found = new Set(read({ data, outside }));
        expect(confirmed.filter((n) => !found.has(n))).toEqual([]);
      }
      expect(await leftVolumes(engine)).toEqual([]);
    });
  });

  function committed(outside: string): readonly number[] {
    const path = join(outside, 'committed');
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map(Number) : [];
  }

  /** Resolves when this many rows more are committed. */
  async function written(outside: string, count: number): Promise<void> {
    const before = committed(outside).length;
    const deadlineMs = performance.now() + 60_000;
    while (committed(outside).length < before + count) {
      if (performance.now() > deadlineMs)
        throw new Error(`No rows are written: ${JSON.stringify(await scene.inspect('db').then(({ State }) => State))}`);
      await sleep(50);
    }
  }
});
