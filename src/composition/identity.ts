import type { Settings, StateSettings } from '../config/read/process-settings.ts';
import type { Outside } from '../domain/outside/outside.ts';
import type { VerificationKey } from '../domain/image/signature.ts';

/** The identity of this process and its view of the machine, the same for all its engines. */
export async function identityOf(
  { journalKeyFile, folder }: Partial<StateSettings>,
  { log }: Pick<Outside, 'log'>,
): Promise<Pick<Outside, 'instance' | 'newId' | 'seal' | 'freeBytes'>> {
  const { createInstance, freeBytes, ownContainerId } = await import('../adapters/process/instance.ts');
  const { openSeal } = await import('../adapters/process/seal.ts');
  const instance = createInstance({ containerId: ownContainerId() });
  const { containerId } = instance;
  const seal = openSeal({ keyFile: journalKeyFile, folder });
  if (seal !== undefined) {
    const { warnOfOthers } = await import('../adapters/files/state-folder.ts');
    warnOfOthers({ folder, keyFile: journalKeyFile }, containerId !== undefined, log);
  }
  return {
    instance,
    newId: () => crypto.randomUUID(),
    freeBytes: (data) => freeBytes(data, containerId),
    ...(seal && { seal }),
  };
}

/** The public keys of --verify-key. */
export async function readKeys({ registry: { verifyKeys } }: Settings): Promise<readonly VerificationKey[]> {
  if (verifyKeys.length === 0) return [];
  const { readVerificationKeys } = await import('../adapters/process/verification-keys.ts');
  return readVerificationKeys(verifyKeys);
}
