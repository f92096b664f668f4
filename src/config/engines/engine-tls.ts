import type { EngineAddress } from '../../domain/fleet/engine-address.ts';
import type { Fault } from '../declaration/fault.ts';
import type { Given } from '../given/given.ts';
import { type EngineCertificates, readEngineCertificates } from '../given/secrets.ts';

/**
 * Follows Docker's own client: a folder of certificates turns TLS on, and `--tlsverify` verifies the engine's
 * certificate.
 */
export function engineTls(
  { values, sourceOf }: Given,
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
