import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Node as the image of Upkeep starts it: its version, and the options of the `ENTRYPOINT`. `npm run bench` installs it. */
export function imageNode(): { readonly node: string; readonly nodeOptions: readonly string[] } {
  return {
    node: `${fileURLToPath(new URL('../../nodes', import.meta.url))}/node_modules/node-24/bin/node`,
    nodeOptions: entrypointOptions(),
  };
}

function entrypointOptions(): readonly string[] {
  const dockerfile = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8');
  const [, words = '[]'] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  return (JSON.parse(words) as string[]).filter((word) => word.startsWith('--'));
}
