import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const plugins = `${root}node_modules/.cache/upkeep-engines/cli-plugins`;

/** Needs of the image suite that test/image/rig/install.mjs fetches. */
export const needs = {
  /** Node for the base image. */
  node: `${root}test/nodes/node_modules/node-24/bin/node`,
  /** Folder of docker-compose and docker-buildx. */
  plugins,
  /** Another version of compose, to compare: `COMPOSE_PROGRAM`. */
  compose: process.env['COMPOSE_PROGRAM'] ?? `${plugins}/docker-compose`,
  haproxy: '/usr/sbin/haproxy',
  caddy: '/usr/bin/caddy',
  jq: '/usr/bin/jq',
};

export const missing = Object.values(needs).filter((path) => !existsSync(path));
