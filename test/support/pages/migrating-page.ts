import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** The service of the compose file in docs/migrating-from-watchtower.md, unchanged. */
export type MigratedService = {
  /** Arguments as compose passes them. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
};

export function readMigratingPage(): MigratedService {
  const page = readFileSync(new URL('../../../docs/migrating-from-watchtower.md', import.meta.url), 'utf8');
  const compose: ComposeFile = parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? '');
  const { command, environment, volumes } = compose.services.watchtower;
  return { argv: command.split(/\s+/), environment, volumes };
}

type ComposeFile = {
  readonly services: {
    readonly watchtower: Pick<MigratedService, 'environment' | 'volumes'> & { readonly command: string };
  };
};
