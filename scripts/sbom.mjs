// `npm run sbom`: dist/sbom.cdx.json, the packages in the bundle as CycloneDX: https://cyclonedx.org/docs/1.5/json/
// npm writes it from package-lock.json. Packages that are not in dist/THIRD-PARTY-LICENSES.txt are removed, because they
// are not shipped.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { name } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const bom = JSON.parse(npmSbom());
const shipped = new Set(bundledPackages());
const refs = new Set([bom.metadata.component['bom-ref'], ...shipped]);

// Times and random numbers would make the file differ for equal sources.
delete bom.serialNumber;
delete bom.metadata.timestamp;
// npm uses the name of the folder.
bom.metadata.component.name = name;
bom.components = bom.components.filter((component) => shipped.delete(component['bom-ref'])).map(asShipped);
bom.dependencies = bom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
if (shipped.size > 0) {
  console.error(`Cannot write the SBOM: package-lock.json does not have ${[...shipped].join(', ')}`);
  process.exit(1);
}
writeFileSync(`${root}dist/sbom.cdx.json`, `${JSON.stringify(bom, undefined, 2)}\n`);

function npmSbom() {
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  // `npm install --global` runs this too, and npm describes no global packages.
  const args = ['sbom', ...format, '--package-lock-only', '--no-global'];
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (status === 0) return stdout;
  console.error(`Cannot write the SBOM: npm sbom failed: ${stderr.trim()}`);
  process.exit(1);
}

/** `name@version` of each package in the bundle. */
function bundledPackages() {
  const text = readFileSync(`${root}dist/THIRD-PARTY-LICENSES.txt`, 'utf8');
  const titles = text.matchAll(/^-{80}\n(\S+) (\S+) \(.*\)\n-{80}$/gm);
  return [...titles].map(([, packageName, version]) => `${packageName}@${version}`);
}

/** The bundled packages are listed as development dependencies, because an installation does not download them. */
function asShipped({ scope: _, properties, ...component }) {
  const kept = properties.filter(({ name: property }) => property !== 'cdx:npm:package:development');
  return { ...component, scope: 'required', properties: kept };
}
