import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Node as the image of Upkeep starts it: its version, and the options of the `ENTRYPOINT`. */
export function imageNode(): { readonly node: string; readonly nodeOptions: readonly string[] } {
  return { node: otherNode('node-24'), nodeOptions: entrypointOptions() };
}

function entrypointOptions(): readonly string[] {
  const dockerfile = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8');
  const [, words = '[]'] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  return (JSON.parse(words) as string[]).filter((word) => word.startsWith('--'));
}

/** The path of a newer Node, from a package. */
function otherNode(name: string): string {
  const folder = fileURLToPath(new URL('../../nodes', import.meta.url));
  const node = `${folder}/node_modules/${name}/bin/node`;
  if (!existsSync(node))
    execFileSync('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund'], { stdio: 'ignore' });
  return node;
}
