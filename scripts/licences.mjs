// The licences of the packages that are bundled.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of a file with the name, version and licence of each package of these modules. */
export function licencesOf(modules) {
  const folders = new Set(modules.flatMap((path) => packageFolder(path) ?? []));
  const entries = [...folders].map(readEntry).toSorted((one, other) => (one.title < other.title ? -1 : 1));
  const rule = '-'.repeat(80);
  return entries.map(({ title, text }) => `${rule}\n${title}\n${rule}\n\n${text}\n`).join('\n');
}

function packageFolder(path) {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
}

function readEntry(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version, license } = manifest;
  if (!license) throw new Error(`Cannot bundle ${name}: its package names no licence`);
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return { title: `${name} ${version} (${license})`, text: texts.join('\n\n') || withoutFile(manifest) };
}

function withoutFile({ license, author, repository }) {
  const by = typeof author === 'object' ? author.name : author;
  const source = typeof repository === 'object' ? repository.url : repository;
  return ['The package has no licence file.', `Licence: ${license}`, `Author: ${by}`, `Source: ${source}`].join('\n');
}
