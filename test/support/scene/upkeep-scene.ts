import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runUpkeep, type UpkeepRun } from './run-upkeep.ts';

/** A container in the document of `upkeep check --json`. */
export type CheckEntry = {
  readonly name: string;
  readonly status: string;
  readonly reason: string;
  readonly update_available: boolean;
  readonly error?: string;
};

/** A container in the document of `upkeep update --json`. */
export type UpdateEntry = { readonly name: string; readonly outcome: string; readonly reason: string };

export type UpkeepScene = {
  /** By container name. */
  readonly check: (...args: string[]) => Promise<Readonly<Record<string, CheckEntry>>>;
  readonly update: (
    ...args: string[]
  ) => Promise<{ readonly run: UpkeepRun; readonly outcomes: Readonly<Record<string, UpdateEntry>> }>;
};

export type UpkeepSceneOptions = {
  /** The engine's socket. */
  readonly socket: string;
  /** Before the arguments of each call. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** The built executable, with parsed output. */
export function upkeepScene({ socket, args: common = [], env = {} }: UpkeepSceneOptions): UpkeepScene {
  return {
    async check(...args) {
      const run = await runUpkeep(['check', '--json', ...common, ...args], { socket, env });
      return byName(containersIn(run) as CheckEntry[]);
    },
    async update(...args) {
      const all = ['update', '--json', '--health-window', '1s', ...common, ...args];
      const run = await runUpkeep(all, { socket, env });
      return { run, outcomes: byName(containersIn(run) as UpdateEntry[]) };
    },
  };
}

/** A folder for DOCKER_CONFIG, as after `docker login`. */
export function dockerConfigFolder(dir: string, config: object): string {
  const folder = mkdtempSync(join(dir, 'docker-config-'));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  return folder;
}

/** An entry of `auths`. */
export function loginEntry(username: string, password: string): { readonly auth: string } {
  return { auth: Buffer.from(`${username}:${password}`).toString('base64') };
}

/** A program `docker-credential-NAME`; returns its folder for PATH. The requested server is in `$server`. */
export function credentialHelper(dir: string, name: string, lines: readonly string[]): string {
  const folder = mkdtempSync(join(dir, 'helper-'));
  const script = ['#!/bin/sh', 'server=$(cat)', ...lines].join('\n');
  writeFileSync(join(folder, `docker-credential-${name}`), script, { mode: 0o755 });
  return folder;
}

/** Containers of the JSON document on standard output; throws the command's error if there is none. */
function containersIn({ stdout, stderr }: UpkeepRun): unknown {
  try {
    const { containers } = JSON.parse(stdout) as { containers?: unknown };
    if (containers !== undefined) return containers;
  } catch {
    // Reported below.
  }
  throw new Error(`No document with containers: ${stdout}${stderr}`);
}

function byName<Entry extends { readonly name: string }>(entries: readonly Entry[]): Readonly<Record<string, Entry>> {
  return Object.fromEntries(entries.map((entry) => [entry.name, entry]));
}
