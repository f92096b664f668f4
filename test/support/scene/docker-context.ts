import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Adds an engine to Docker's context store in this folder; `certificates` is a DOCKER_CERT_PATH. */
export function addContext(folder: string, name: string, Host: string, certificates?: string): void {
  const id = createHash('sha256').update(name).digest('hex');
  const meta = join(folder, 'contexts/meta', id);
  mkdirSync(meta, { recursive: true });
  writeFileSync(join(meta, 'meta.json'), JSON.stringify({ Name: name, Metadata: {}, Endpoints: { docker: { Host } } }));
  if (certificates === undefined) return;
  cpSync(certificates, join(folder, 'contexts/tls', id, 'docker'), { recursive: true });
}
