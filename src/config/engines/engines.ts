import { type EngineAddress, parseEngineAddress, repeatedNames } from '../../domain/fleet/engine-address.ts';
import { withoutSecretParts } from '../../domain/settings/values/shown-text.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Fault } from '../declaration/fault.ts';
import type { Given } from '../given/given-options.ts';
import { type EngineCertificates, readEngineCertificates } from '../given/secrets.ts';
import { readContexts } from './contexts.ts';

type Parts = Pick<Given, 'values' | 'sourceOf'>;

/**
 * The engines in the order of the options, contexts last. Empty: one of the usual sockets. `dockerFolder`: the
 * folder of Docker's own client.
 */
export function readEngines(
  { values, sourceOf }: Parts,
  dockerFolder: string | undefined,
  faults: Fault[],
): readonly EngineAddress[] {
  const engines = [
    ...readHosts({ values, sourceOf }, faults),
    ...contextsOf({ values, sourceOf }, dockerFolder, faults),
  ];
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
  faults: Fault[],
): (EngineCertificates & { readonly verify: boolean }) | undefined {
  const { engineCertPath, engineTlsVerify } = values;
  const wanted = engines.some(
    ({ host, tls }) =>
      tls === undefined &&
      (host.startsWith('https://') || (host.startsWith('tcp://') && (engineTlsVerify || engineCertPath))),
  );
  if (!wanted) return undefined;
  if (engineCertPath === undefined) return { verify: true };
  const certificates = readEngineCertificates(sourceOf('engineCertPath'), engineCertPath);
  if ('kind' in certificates) {
    faults.push(certificates);
    return undefined;
  }
  return { ...certificates, verify: engineTlsVerify };
}
