import { endOfString, foldCase, type JsonObject, objectOf, parseJson } from '../../../domain/text/json-value.ts';
import { RegistryFailure } from '../transport/failure.ts';

/**
 * The object in a registry's JSON. Undefined for other content. Throws `registry-invalid` for a text that parsers read
 * differently: engines match the names of fields in any case, and merge or replace a field that is given twice, as Go
 * does (https://pkg.go.dev/encoding/json#Unmarshal). `what` names the document: `manifest`.
 */
export function parseOneReading(body: Buffer, what: keyof typeof fieldNames): JsonObject | undefined {
  const text = body.toString();
  const parsed = objectOf(parseJson(text));
  if (parsed === undefined) return undefined;
  const doubt = findDoubt(text, fieldNames[what]);
  if (doubt !== undefined)
    throw new RegistryFailure('registry-invalid', `its ${what} can be read in two ways: ${doubt}`);
  return parsed;
}

type Names = ReadonlyMap<string, string>;

/** The object or list around a place in the text. */
type Level = {
  /** Names of an object so far. Undefined in a list. */
  readonly seen: Set<string> | undefined;
  /** The names are free, such as those of labels. */
  readonly isMap: boolean;
  isNameNext: boolean;
  name: string;
};

/** Why the JSON has several readings. Undefined: it has one. */
function findDoubt(text: string, names: Names): string | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    switch (text.charAt(at)) {
      case '{':
      case '[': {
        if (levels.length === deepestLevel) return 'it is nested too deep';
        const isObject = text[at] === '{';
        // The entries of a list belong to the field that holds the list.
        const name = level?.name ?? '';
        const isMap = level?.isMap === true || (isObject && maps.has(name));
        levels.push({ seen: isObject ? new Set() : undefined, isMap, isNameNext: isObject, name });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level?.seen !== undefined) level.isNameNext = true;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.seen !== undefined && level.isNameNext) {
          const doubt = takeName(String(parseJson(text.slice(at, end + 1))), level, names);
          if (doubt !== undefined) return doubt;
        }
        at = end;
        break;
      }
    }
  }
  return undefined;
}

function takeName(name: string, level: Level, names: Names): string | undefined {
  const known = names.get(foldCase(name));
  if (!level.isMap && known !== undefined && known !== name) return `a field looks like "${known}", but is not`;
  if (level.seen?.has(name)) return known === undefined ? 'a field is given twice' : `"${known}" is given twice`;
  level.seen?.add(name);
  level.name = name;
  level.isNameNext = false;
  return undefined;
}

/** Deeper than any manifest. */
const deepestLevel = 32;

function namesOf(list: string): Names {
  return new Map(list.split(' ').map((name) => [foldCase(name), name]));
}

/**
 * https://github.com/opencontainers/image-spec/blob/main/image-index.md, manifest.md, config.md and, for the other fields
 * of a config, https://docs.docker.com/reference/api/engine/#tag/Image/operation/ImageInspect
 */
const fieldNames = {
  manifest: namesOf(
    'schemaVersion mediaType artifactType manifests config layers subject annotations digest size urls data platform os architecture variant features os.version os.features',
  ),
  'image config': namesOf(
    'os architecture variant os.version os.features created author config rootfs type diff_ids history User ExposedPorts Env Entrypoint Cmd Volumes WorkingDir Labels StopSignal StopTimeout Healthcheck Test Interval Timeout StartPeriod StartInterval Retries Shell OnBuild ArgsEscaped Hostname Domainname MacAddress Image NetworkDisabled',
  ),
};

/** Fields whose names are free. */
const maps: ReadonlySet<string> = new Set(['annotations', 'Labels', 'ExposedPorts', 'Volumes']);
