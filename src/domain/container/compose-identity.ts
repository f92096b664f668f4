import { isJsonObject, parseJson } from '../text/json.ts';
import { labelOf, type Labels } from '../image/image-labels.ts';

/** Compose project and service of a container, from the labels that `docker compose up` writes. */
export type ComposeIdentity = {
  readonly project: string;
  readonly service: string;
  /** The folder of the project. Empty without the label, as with tools other than compose. */
  readonly folder: string;
  /** The compose files. Empty without the label. */
  readonly files: readonly string[];
  /** Made by `compose run`, so it is not a replica of the service. */
  readonly oneOff: boolean;
  readonly dependsOn: readonly ComposeDependency[];
};

export type ComposeDependency = {
  /** A service of the same project. */
  readonly service: string;
  readonly condition: ComposeCondition;
  /** Whether the container must be restarted after an update of that service. */
  readonly restart: boolean;
};

/** https://github.com/compose-spec/compose-spec/blob/main/05-services.md#depends_on */
export type ComposeCondition = (typeof conditions)[number];

const conditions = ['service_started', 'service_healthy', 'service_completed_successfully'] as const;

/** Undefined for a container outside of compose projects. Ignores unreadable parts. */
export function readComposeIdentity(labels: Labels): ComposeIdentity | undefined {
  const read = (name: string) => labelOf(labels, composePrefix + name) ?? '';
  const [project, service] = [read('project'), read('service')];
  if (!isName(project) || !isName(service)) return undefined;
  return {
    project,
    service,
    folder: read('project.working_dir'),
    files: read('project.config_files')
      .split(',', mostFiles)
      .map((file) => file.trim())
      .filter((file) => file !== ''),
    oneOff: read('oneoff').toLowerCase() === 'true',
    dependsOn: readDependencies(read('depends_on')),
  };
}

/**
 * Whether two containers with the same project name can belong to one project: their folder is the same, and they have
 * a compose file in common. The label lists the files of one compose call; the other container may come from a call
 * with more or fewer.
 */
export function mayBelongTogether(one: ComposeIdentity, other: ComposeIdentity): boolean {
  if (one.project !== other.project || one.folder !== other.folder) return false;
  if (one.files.length === 0 || other.files.length === 0) return one.files.length === other.files.length;
  const files = new Set(other.files);
  return one.files.some((file) => files.has(file));
}

export const composePrefix = 'com.docker.compose.';

/** Each container's files are compared with those of all others. */
const mostFiles = 100;

const longestDependencies = 32_768;

const mostDependencies = 100;

function isName(text: string): boolean {
  return /^[a-zA-Z0-9._-]{1,255}$/.test(text);
}

/** Compose writes `db:service_healthy:true,cache`; other tools write the JSON of the compose file. */
function readDependencies(text: string): readonly ComposeDependency[] {
  if (text.length > longestDependencies) return [];
  const listed = /^\s*[{[]/.test(text) ? fromJson(text) : fromLine(text);
  const named = new Map(
    listed.filter(({ service }) => isName(service)).map((dependency) => [dependency.service, dependency]),
  );
  return [...named.values()].slice(0, mostDependencies);
}

function fromLine(text: string): readonly ComposeDependency[] {
  return text.split(',').map((item) => {
    const [service = '', condition, restart] = item.split(':').map((part) => part.trim());
    return dependency(service, condition, restart?.toLowerCase() === 'true');
  });
}

function fromJson(text: string): readonly ComposeDependency[] {
  const value = parseJson(text);
  if (Array.isArray(value))
    return value.filter((item) => typeof item === 'string').map((service) => dependency(service, undefined, false));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).map(([service, detail]) =>
    isJsonObject(detail)
      ? dependency(service, detail['condition'], detail['restart'] === true)
      : dependency(service, undefined, false),
  );
}

function dependency(service: string, condition: unknown, restart: boolean): ComposeDependency {
  return { service, condition: conditions.find((known) => known === condition) ?? 'service_started', restart };
}
