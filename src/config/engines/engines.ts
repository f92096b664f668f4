import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../table/environment.ts';
import { type EngineAddress, parseEngineAddress, repeatedNames } from '../../domain/engine-address.ts';
import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Fault } from '../declaration/fault.ts';
import type { Given } from '../given/given-options.ts';
import { type EngineCertificates, readEngineCertificates } from '../given/secrets.ts';
import { currentContext, readContexts } from './contexts.ts';

type Parts = Pick<Given, 'values' | 'sourceOf'>;

/**
 * The engines in the order of the options, contexts last. Empty: one of the usual sockets. `dockerFolder`: the
 * folder of Docker's own client.
 */
export function readEngines(
  { values, sourceOf }: Parts,
  dockerFolder: string | undefined,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: string[] },
): readonly EngineAddress[] {
  const named = [...readHosts({ values, sourceOf }, faults), ...contextsOf({ values, sourceOf }, dockerFolder, faults)];
  const isNamed = values.engineHost.length + values.engineContexts.length > 0;
  const engines = isNamed ? named : contextInUse({ values, sourceOf }, dockerFolder, { faults, warnings });
  for (const name of repeatedNames(engines)) {
    const source = sourceOf(values.engineHost.length === 0 ? 'engineContexts' : 'engineHost');
    const message = `Cannot use ${source}: several engines are called ${quoted(name)}; give each a name of its own, as in nas=ssh://user@server`;
    faults.push({ kind: 'value', message });
  }
  const known = engines.length === 0 ? ['local'] : engines.map(({ name }) => name);
  const unknown = values.engines.filter((name) => !known.includes(name));
  // A running service knows its own engines.
  if (unknown.length > 0 && values.remoteUrl === undefined) {
    const which = unknown.map((name) => quoted(name)).join(', ');
    const message = `Cannot use --engine ${which}: no engine has this name; the engines are ${known.slice(0, 20).join(', ')}`;
    faults.push({ kind: 'value', message });
  }
  return engines;
}

/**
 * The context of Docker's own client: of `DOCKER_CONTEXT`, else of `docker context use`. A container often has the
 * client's config.json for its logins and not its contexts, so a context that is not there is only a warning then.
 */
function contextInUse(
  { values: { dockerContext }, sourceOf }: Parts,
  dockerFolder: string | undefined,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: string[] },
): readonly EngineAddress[] {
  const used = dockerContext ?? currentContext(dockerFolder);
  if (used === undefined || used === '' || used === 'default') return [];
  const [read] = readContexts([used], dockerFolder ?? '');
  if (read !== undefined && 'engine' in read) return [read.engine];
  const why = read?.fault ?? 'it is unknown';
  if (dockerContext !== undefined)
    faults.push({ kind: 'value', message: `Cannot use ${sourceOf('dockerContext')}: ${why}` });
  else
    warnings.push(
      `The engine of the usual socket is used, and not the one of "docker context use": ${why}. Set --host or --context to choose`,
    );
  return [];
}

function readHosts({ values, sourceOf }: Parts, faults: Fault[]): readonly EngineAddress[] {
  return values.engineHost.flatMap((text): EngineAddress[] => {
    const read = parseEngineAddress(text);
    if (!('fault' in read)) return [read];
    // A single engine needs no name.
    const host = text.replace(/^[^=:/]*=/, '');
    if (values.engineHost.length === 1 && host === text && read.of === 'name') return [{ name: 'engine', host }];
    const shown = quoted(withoutSecretParts(text), 200);
    faults.push({ kind: 'value', message: `Cannot use ${sourceOf('engineHost')} ${shown}: ${read.fault}` });
    return [];
  });
}

function contextsOf(
  { values: { engineContexts }, sourceOf }: Parts,
  dockerFolder: string | undefined,
  faults: Fault[],
): readonly EngineAddress[] {
  if (engineContexts.length === 0) return [];
  const source = sourceOf('engineContexts');
  if (dockerFolder === undefined && engineContexts.some((name) => name !== 'default')) {
    faults.push({ kind: 'value', message: `Cannot use ${source}: neither HOME nor DOCKER_CONFIG is set` });
    return [];
  }
  return readContexts(engineContexts, dockerFolder ?? '').flatMap((read): EngineAddress[] => {
    if ('engine' in read) return [read.engine];
    faults.push({ kind: 'value', message: `Cannot use ${source}: ${read.fault}` });
    return [];
  });
}

/**
 * Follows Docker's own client: a folder of certificates turns TLS on, and `--tlsverify` verifies the engine's
 * certificate.
 */
export function engineTls(
  { values, sourceOf }: Parts,
  engines: readonly EngineAddress[],
  { dockerFolder, faults }: { readonly dockerFolder: string | undefined; readonly faults: Fault[] },
): (EngineCertificates & { readonly verify: boolean }) | undefined {
  const { engineCertPath, engineTlsVerify } = values;
  const wanted = engines.some(
    ({ host, tls }) =>
      tls === undefined &&
      (host.startsWith('https://') || (host.startsWith('tcp://') && (engineTlsVerify || engineCertPath))),
  );
  if (!wanted) return undefined;
  const folder = engineCertPath ?? (engineTlsVerify ? folderWithCertificates(dockerFolder) : undefined);
  if (folder === undefined) return { verify: true };
  const certificates = readEngineCertificates(sourceOf('engineCertPath'), folder);
  if ('kind' in certificates) {
    faults.push(certificates);
    return undefined;
  }
  return { ...certificates, verify: engineTlsVerify };
}

/** Docker's own client looks in its own folder by default. */
function folderWithCertificates(dockerFolder: string | undefined): string | undefined {
  if (dockerFolder === undefined) return undefined;
  return ['ca.pem', 'cert.pem'].some((file) => existsSync(join(dockerFolder, file))) ? dockerFolder : undefined;
}
/**
 * The variables that `ssh` and its configuration need. All others stay here: commands of its configuration, and
 * `SendEnv`, would hand on tokens and passwords.
 */
export function sshEnvironment(all: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(all).filter(([name]) => passedOn.test(name)));
}

/** For Windows the second line. */
const passedOn = new RegExp(
  [
    '^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|TMPDIR|LANG|LANGUAGE|LC_[A-Z]+|SSH_AUTH_SOCK|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|KRB5CCNAME|KRB5_CONFIG',
    'SystemRoot|SystemDrive|windir|ComSpec|PATHEXT|TEMP|TMP|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|ProgramData)$',
  ].join('|'),
  'i',
);
