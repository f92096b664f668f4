import { objectOf, parseJson, doubtIn, namesOf, type JsonObject } from '../../../domain/text/json.ts';
import { HttpFailure } from '../../http/failure.ts';

/**
 * The object in a registry's JSON. Undefined for other content. Throws `registry-invalid` for a text that parsers read
 * differently: engines match the names of fields in any case, and merge or replace a field that is given twice, as Go
 * does (https://pkg.go.dev/encoding/json#Unmarshal). `what` names the document: `manifest`.
 */
export function parseOneReading(body: Buffer, what: keyof typeof fieldNames): JsonObject | undefined {
  const text = body.toString();
  const parsed = objectOf(parseJson(text));
  if (parsed === undefined) return undefined;
  const doubt = doubtIn(text, { names: fieldNames[what], maps });
  if (doubt !== undefined) throw new HttpFailure('invalid', `its ${what} can be read in two ways: ${doubt}`);
  return parsed;
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
