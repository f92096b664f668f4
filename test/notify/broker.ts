import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram, type Program } from './program.ts';

export type MqttBroker = {
  readonly port: number;
  /** A subscriber to all topics: resolves to `TOPIC RETAINED QOS PAYLOAD` lines, after it is subscribed. */
  readonly watch: (topic?: string) => Promise<Program>;
  /** Starts it again without its earlier data. */
  readonly restart: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type BrokerOptions = {
  readonly tls?: boolean;
  /** Logins by name; default: everyone may connect. */
  readonly passwords?: Readonly<Record<string, string>>;
  /** Lines of an `acl_file`. */
  readonly rights?: readonly string[];
  /** More lines of its configuration. */
  readonly more?: readonly string[];
};

const identity = (name: string): string => fileURLToPath(new URL(`../fixtures/notify-tls/${name}`, import.meta.url));

/** Debian's mosquitto on the loopback. */
export async function startBroker(options: BrokerOptions = {}): Promise<MqttBroker> {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-broker-'));
  const port = await freePort();
  const file = (name: string, lines: readonly string[]): string => {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o644 });
    return path;
  };
  const { passwords = {}, rights, tls = false, more = [] } = options;
  const passwordFile = file('passwords', []);
  for (const [user, password] of Object.entries(passwords))
    spawnSync('mosquitto_passwd', ['-b', passwordFile, user, password]);
  const config = file('mosquitto.conf', [
    'user root',
    'persistence false',
    'log_dest stderr',
    'log_type all',
    `listener ${port} 127.0.0.1`,
    ...(Object.keys(passwords).length === 0
      ? ['allow_anonymous true']
      : ['allow_anonymous false', `password_file ${passwordFile}`]),
    ...(rights === undefined ? [] : [`acl_file ${file('rights', rights)}`]),
    ...(tls ? [`certfile ${identity('server.pem')}`, `keyfile ${identity('server.key')}`] : []),
    ...more,
  ]);
  const start = async (): Promise<Program> => {
    const program = startProgram('mosquitto', ['-c', config]);
    await program.line((line) => line.includes(' running'));
    return program;
  };
  let broker = await start();
  const watchers: Program[] = [];
  return {
    port,
    async watch(topic = '#') {
      const secure = tls ? ['--cafile', identity('ca.pem')] : [];
      const [user, password] = Object.entries(passwords).at(-1) ?? [];
      const login = user === undefined ? [] : ['-u', user, '-P', password ?? ''];
      const args = ['-h', tls ? 'localhost' : '127.0.0.1', '-p', String(port), '-t', topic, '-F', '%t %r %q %p'];
      const watcher = startProgram('mosquitto_sub', [...args, ...secure, ...login]);
      watchers.push(watcher);
      // Its output is buffered until the first message.
      await broker.line((line) => line.includes('Sending SUBACK'));
      return watcher;
    },
    async restart() {
      await broker[Symbol.asyncDispose]();
      broker = await start();
    },
    async [Symbol.asyncDispose]() {
      for (const program of [...watchers, broker]) await program[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** No other process takes the port in the moment between. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
