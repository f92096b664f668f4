import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startEngine } from './engine/engine.ts';
import type { EngineOptions, LabEngine } from './engine/engine.ts';
import { engineClient } from './engine/engine-client.ts';
import type { EngineClient } from './engine/engine-client.ts';
import { pki } from './pki.ts';
import type { Pki } from './pki.ts';
import type { PushTarget } from './registry/push.ts';
import { startRegistry } from './registry/registry.ts';
import type { LabRegistry, RegistryOptions } from './registry/registry.ts';

/** The lab of a test. Images come from `push.ts` and `catalogue.ts`, faults from `fault-proxy.ts`. */
export type Lab = {
  /** A folder with a path short enough for sockets; removed with the lab. */
  readonly dir: string;
  /** The engine that all tests of this run share. Restore it with `clear()`. */
  readonly engine: EngineClient & { readonly socket: string; readonly pid: () => number };
  /** The registry that all tests of this run share, without authentication; `app` in it holds the catalogue. */
  readonly registry: PushTarget & { readonly host: string };
  readonly pki: Pki;
  /** An own engine, to be killed and restarted; call `remove()` afterwards. */
  readonly startEngine: (options: EngineOptions) => Promise<LabEngine>;
  /** An own registry; call `remove()` afterwards. */
  readonly startRegistry: (options?: RegistryOptions) => Promise<LabRegistry>;
};

/** The lab that this process runs in; undefined outside of one. */
export const lab: Lab | undefined = readLab();

function readLab(): Lab | undefined {
  const dir = process.env['LAB_DIR'];
  const socket = process.env['LAB_SOCKET'];
  const host = process.env['LAB_REGISTRY'];
  if (!dir || !socket || !host) return undefined;
  const pidFile = join(dirname(socket), 'pid');
  return {
    dir,
    engine: { ...engineClient(socket), socket, pid: () => Number(readFileSync(pidFile, 'utf8')) },
    registry: { host, url: `http://${host}` },
    pki: pki(dir),
    startEngine: (options) => startEngine(dir, { beside: true, ...options }),
    startRegistry: (options) => startRegistry(dir, options),
  };
}
