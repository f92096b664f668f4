import { addTo } from '../text/plain-data.ts';

/** A value of a compose file, with aliases and merge keys resolved. */
export type ComposeNode =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Where the text stands in the file, if it stands there as it is. */
      readonly at?: number;
    }
  | {
      readonly kind: 'map';
      readonly entries: ReadonlyMap<string, ComposeNode>;
      /** `!override`: earlier files have no say in it. */
      readonly replaces?: true;
    }
  | { readonly kind: 'list'; readonly items: readonly ComposeNode[] }
  /** `!reset`: gone, also if an earlier file has it. */
  | { readonly kind: 'none' };

/** A file as it was read. `documents`: those of a YAML file; undefined if it is none, or has too much in it. */
export type ComposeSource =
  | { readonly text: string; readonly documents?: readonly ComposeNode[] }
  | 'missing'
  | 'unreadable'
  | 'outside-roots';

/** By absolute path. */
export type ComposeSources = ReadonlyMap<string, ComposeSource>;

/** The compose project of a container, as its labels say. */
export type ComposeProject = {
  readonly name: string;
  /** The project's folder, which relative paths begin at. */
  readonly folder: string;
  /** In the order of the command. */
  readonly files: readonly string[];
  /** Undefined: `.env` in the folder, if there is one. */
  readonly envFiles: readonly string[] | undefined;
};

/** The project of a container's labels. Paths of old versions of compose begin at its folder. */
export function projectOf({
  project,
  folder,
  files,
  envFiles,
}: {
  readonly project: string;
  readonly folder: string;
  readonly files: readonly string[];
  readonly envFiles: readonly string[];
}): ComposeProject {
  const absolutePath = (path: string): string => (path.startsWith('/') || folder === '' ? path : `${folder}/${path}`);
  return {
    name: project,
    folder,
    // Compose writes a dash for its standard input.
    files: files.includes('-') ? [] : files.map(absolutePath),
    envFiles: envFiles.length > 0 ? envFiles.map(absolutePath) : undefined,
  };
}

/** Why nothing can be said about a project. */
export type ComposeFault =
  | 'no-files'
  | 'missing'
  | 'unreadable'
  | 'outside-roots'
  | 'not-compose'
  /** An `include` or `extends` that is no file. */
  | 'remote'
  /** A service that is also in an included project. */
  | 'conflict'
  /** An invalid variable, or one that is required and not in the files. */
  | 'variables'
  | 'too-many-files';

/** A service as its files have it. */
type ComposeService = {
  readonly image: Pieces | 'reset' | undefined;
  readonly containerName: string | undefined;
  readonly labels: ReadonlyMap<string, string>;
};

/** The images of all services, or the files that have to be read first, or why there is no answer. */
export type ComposeImages =
  | {
      readonly kind: 'images';
      readonly images: ReadonlyMap<string, Pieces>;
      /** All services, also those without an image. */
      readonly services: ReadonlyMap<string, Omit<ComposeService, 'image'>>;
      /** The name of the project that its files give, if they do. */
      readonly statedName: string | undefined;
      /** All other texts that take part, by where they stand: `volumes of web`. */
      readonly others: Others;
    }
  | { readonly kind: 'needs'; readonly files: readonly string[] }
  | { readonly kind: 'fault'; readonly fault: ComposeFault };

type Others = ReadonlyMap<string, readonly string[]>;

/**
 * Evaluates `image` of each service as `docker compose config` does, from files alone: the environment of the shell that
 * called compose is unknown. A service without an image has no entry.
 */
export function imagesOf(project: ComposeProject, sources: ComposeSources): ComposeImages {
  const needed = new Set<string>();
  const found = new Set<string>();
  // `sources` may have files of other projects too.
  const read: Read = (path) => {
    const source = sources.get(path);
    if (source !== 'missing') found.add(path);
    if (found.size > maxFiles) throw new Faulty('too-many-files');
    if (source === undefined) needed.add(path);
    return source;
  };
  try {
    if (project.files.length === 0) throw new Faulty('no-files');
    const own: Variables = (name) => (name === 'COMPOSE_PROJECT_NAME' ? [{ text: project.name }] : undefined);
    const { folder, files, envFiles } = project;
    const others = new Map<string, string[]>();
    const { services, statedName } = servicesIn({ folder, files, envFiles, outer: own, others, depth: 0 }, read);
    if (needed.size > 0) return { kind: 'needs', files: [...needed] };
    const images = new Map<string, Pieces>();
    for (const [name, { image }] of services) if (image !== undefined && image !== 'reset') images.set(name, image);
    return { kind: 'images', images, services, statedName, others };
  } catch (error) {
    if (!(error instanceof Faulty)) throw error;
    return needed.size > 0 ? { kind: 'needs', files: [...needed] } : { kind: 'fault', fault: error.fault };
  }
}

type Read = (path: string) => ComposeSource | undefined;

/** Ends the evaluation; never leaves this module. */
class Faulty extends Error {
  readonly fault: ComposeFault;

  constructor(fault: ComposeFault) {
    super(fault);
    this.fault = fault;
  }
}

const maxFiles = 20;

const maxDepth = 20;

type Part = Omit<ComposeProject, 'name'> & {
  readonly outer: Variables;
  readonly others: Map<string, string[]>;
  readonly depth: number;
};

type Services = {
  readonly services: ReadonlyMap<string, ComposeService>;
  readonly statedName: string | undefined;
};

function servicesIn(part: Part, read: Read): Services {
  if (part.depth > maxDepth) throw new Faulty('too-many-files');
  const variables = variablesOf(part, read);
  const found = new Map<string, ComposeService>();
  const included: ComposeNode[] = [];
  const told = new Set<ComposeNode>();
  const tell = (where: string, node: ComposeNode): void => {
    for (const text of textsUnder(node, variables, told)) addTo(part.others, where, text);
  };
  const inEnvironment = variables('COMPOSE_PROJECT_NAME')?.filter(({ at }) => at !== undefined) ?? [];
  let statedName: string | undefined;
  for (const path of part.files) {
    for (const document of documentsOf(path, read)) {
      const top = entriesOf(document);
      const services = entriesOf(top.get('services'));
      const scope = { path, folder: part.folder, services, variables, read, tell };
      for (const [key, node] of top) if (toldParts.has(key)) tell(key, node);
      if (replaces(top.get('services'))) found.clear();
      for (const [name, service] of services) {
        const base = replaces(service) ? undefined : found.get(name);
        if (service.kind === 'none') found.delete(name);
        else found.set(name, overridden(base, serviceOf(service, scope, 0, name)));
      }
      const include = top.get('include');
      if (include?.kind === 'list') included.push(...include.items);
      statedName = textsOf(top.get('name'), variables)[0] ?? statedName;
    }
  }
  for (const each of included) {
    const { services } = servicesIn(includedPart(each, part, variables), read);
    for (const [name, service] of services) {
      if (found.has(name)) throw new Faulty('conflict');
      found.set(name, service);
    }
  }
  return { services: found, statedName: inEnvironment.length > 0 ? textOf(inEnvironment) : statedName };
}

/** Of a file, besides its services. */
const toldParts: ReadonlySet<string> = new Set([
  'name',
  'include',
  'volumes',
  'networks',
  'configs',
  'secrets',
  'models',
]);

function replaces(node: ComposeNode | undefined): boolean {
  return node?.kind === 'none' || (node?.kind === 'map' && node.replaces === true);
}

/** A service in a later file, or one that extends another. */
function overridden(base: ComposeService | undefined, own: ComposeService): ComposeService {
  if (base === undefined) return own;
  return {
    image: own.image ?? base.image,
    containerName: own.containerName ?? base.containerName,
    labels: new Map([...base.labels, ...own.labels]),
  };
}

function includedPart(node: ComposeNode, { folder, others, depth }: Part, variables: Variables): Part {
  const entries = node.kind === 'map' ? node.entries : new Map([['path', node]]);
  const files = textsOf(entries.get('path'), variables).map((path) => absolute(path, folder));
  const [first] = files;
  if (first === undefined) throw new Faulty('not-compose');
  const [given] = textsOf(entries.get('project_directory'), variables);
  const envFiles = textsOf(entries.get('env_file'), variables).map((path) => absolute(path, folder));
  return {
    files,
    folder: given === undefined ? folderOf(first) : absolute(given, folder),
    envFiles: envFiles.length > 0 ? envFiles : undefined,
    outer: variables,
    others,
    depth: depth + 1,
  };
}

/** Variables of an outer project count before those of the files of an included one. */
function variablesOf({ folder, envFiles, outer, depth }: Part, read: Read): Variables {
  const values = new Map<string, Pieces>();
  const known: Variables = (name) =>
    depth > 0 ? (outer(name) ?? values.get(name)) : (values.get(name) ?? outer(name));
  for (const path of envFiles ?? [`${folder}/.env`]) {
    if (path === '/dev/null') continue;
    const source = read(path);
    if (source === undefined || (source === 'missing' && envFiles === undefined)) continue;
    if (typeof source === 'string') throw new Faulty(source);
    const own = readEnvFile({ file: path, text: source.text }, known, values);
    if (own === undefined) throw new Faulty('variables');
    for (const [name, value] of own) values.set(name, value);
  }
  return known;
}

function documentsOf(path: string, read: Read): readonly ComposeNode[] {
  const source = read(path);
  if (source === undefined) return [];
  if (typeof source === 'string') throw new Faulty(source);
  if (source.documents === undefined) throw new Faulty('not-compose');
  return source.documents;
}

type Scope = {
  readonly path: string;
  /** Relative paths begin here. */
  readonly folder: string;
  readonly services: ReadonlyMap<string, ComposeNode>;
  readonly variables: Variables;
  readonly read: Read;
  /** Takes the texts of a node that is no image. */
  readonly tell: (where: string, node: ComposeNode) => void;
};

/** With what it does not say itself from the service that it extends. */
function serviceOf(service: ComposeNode, scope: Scope, depth: number, called: string): ComposeService {
  if (depth > maxDepth) throw new Faulty('not-compose');
  const entries = entriesOf(service);
  for (const [key, node] of entries)
    if (key !== 'image' && !key.startsWith('x-')) scope.tell(`${key} of ${called}`, node);
  const own = {
    image: ownImage(entries.get('image'), scope),
    containerName: textsOf(entries.get('container_name'), scope.variables)[0],
    labels: labelsIn(entries.get('labels'), scope.variables),
  };
  const base = entries.get('extends');
  return base === undefined || base.kind === 'none' ? own : overridden(extended(base, scope, depth), own);
}

function ownImage(image: ComposeNode | undefined, { path, variables }: Scope): Pieces | 'reset' | undefined {
  if (image?.kind === 'none') return 'reset';
  if (image?.kind !== 'text') return undefined;
  const value = interpolate(pieceAt(image.text, path, image.at), variables);
  if (value === undefined) throw new Faulty('variables');
  return textOf(value) === '' ? undefined : value;
}

/** A map of labels, or a list of `name=value`. */
function labelsIn(node: ComposeNode | undefined, variables: Variables): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  if (node?.kind === 'map')
    for (const [name, value] of node.entries) {
      const read = value.kind === 'text' ? interpolate({ text: value.text }, variables) : undefined;
      if (read !== undefined) labels.set(name, textOf(read));
    }
  for (const text of node?.kind === 'list' ? textsOf(node, variables) : []) {
    const [name = ''] = text.split('=', 1);
    labels.set(name, text.slice(name.length + 1));
  }
  return labels;
}

function extended(base: ComposeNode, scope: Scope, depth: number): ComposeService | undefined {
  const { variables, read, folder } = scope;
  const entries = entriesOf(base);
  const [name] = textsOf(base.kind === 'text' ? base : entries.get('service'), variables);
  const [file] = textsOf(entries.get('file'), variables);
  if (name === undefined) throw new Faulty('not-compose');
  const path = file === undefined ? undefined : absolute(file, folder);
  const documents = path === undefined ? [] : documentsOf(path, read);
  if (path !== undefined && documents.length === 0) return undefined;
  const services = path === undefined ? scope.services : entriesOf(entriesOf(documents.at(-1)).get('services'));
  const service = services.get(name);
  if (service === undefined) throw new Faulty('not-compose');
  const inner = path === undefined ? scope : { ...scope, path, services, folder: folderOf(path) };
  const found = serviceOf(service, inner, depth + 1, name);
  return found.image === 'reset' ? { ...found, image: undefined } : found;
}

function pieceAt(text: string, file: string, offset: number | undefined): Piece {
  return offset === undefined ? { text } : { text, at: { file, offset } };
}

function entriesOf(node: ComposeNode | undefined): ReadonlyMap<string, ComposeNode> {
  return node?.kind === 'map' ? node.entries : new Map<string, ComposeNode>();
}

/** A text, or a list of texts. */
function textsOf(node: ComposeNode | undefined, variables: Variables): readonly string[] {
  const nodes = node?.kind === 'list' ? node.items : node === undefined ? [] : [node];
  return nodes.flatMap((each) => {
    const value = each.kind === 'text' ? interpolate({ text: each.text }, variables) : undefined;
    return value === undefined || textOf(value) === '' ? [] : [textOf(value)];
  });
}

/** The values of all texts of a node, of each node once: an alias repeats what was told. */
function textsUnder(node: ComposeNode, variables: Variables, told: Set<ComposeNode>): readonly string[] {
  if (told.has(node)) return [];
  told.add(node);
  switch (node.kind) {
    case 'text':
      return [textOf(interpolate({ text: node.text }, variables) ?? [{ text: node.text }])];
    case 'map':
      return [...node.entries.values()].flatMap((inner) => textsUnder(inner, variables, told));
    case 'list':
      return node.items.flatMap((inner) => textsUnder(inner, variables, told));
    case 'none':
      return [];
  }
}

/** Throws for what is no path, such as `https://…` and `oci://…`. */
function absolute(path: string, folder: string): string {
  if (/^[a-z][\w+.-]*:|^git@|^~/i.test(path)) throw new Faulty('remote');
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${folder}/${path}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/'))) || '/';
}

/**
 * A part of a text. `at` says where its characters stand in a file, one after the other. Without `at` they stand nowhere
 * as they are: they come from an escape, or from outside.
 */
type Piece = { readonly text: string; readonly at?: Place };

/** `offset`: in UTF-16 units from the start of the file. */
type Place = { readonly file: string; readonly offset: number };

/** A text of which each character has its origin. */
export type Pieces = readonly Piece[];

/** The value of a variable; undefined if it is not set. */
type Variables = (name: string) => Pieces | undefined;

export function textOf(pieces: Pieces): string {
  return pieces.map(({ text }) => text).join('');
}

/** The part of a piece from `start` to `end`. */
function cut({ text, at }: Piece, start: number, end: number): Piece {
  const part = text.slice(start, end);
  return at === undefined ? { text: part } : { text: part, at: { file: at.file, offset: at.offset + start } };
}

/**
 * Replaces `$NAME` and `${NAME…}` as compose does; undefined if the template is invalid, or a variable is missing that it
 * requires. A variable that is not set is empty. https://docs.docker.com/reference/compose-file/interpolation/
 */
function interpolate(template: Piece, variables: Variables, depth = 0): Pieces | undefined {
  if (depth > maxNesting) return undefined;
  const { text } = template;
  const found: Piece[] = [];
  let literal = 0;
  let index = text.indexOf('$');
  while (index !== -1) {
    if (index > literal) found.push(cut(template, literal, index));
    const [, name] = /^\$([a-z_]\w*)/i.exec(text.slice(index, index + maxName)) ?? [];
    if (text[index + 1] === '$') {
      found.push({ text: '$' });
      literal = index + 2;
    } else if (name !== undefined) {
      found.push(...(variables(name) ?? []));
      literal = index + 1 + name.length;
    } else {
      const end = text[index + 1] === '{' ? closingBrace(text, index + 1) : -1;
      const value = end === -1 ? undefined : substitute(cut(template, index + 2, end), variables, depth);
      if (value === undefined) return undefined;
      found.push(...value);
      literal = end + 1;
    }
    index = text.indexOf('$', literal);
  }
  if (literal < text.length) found.push(cut(template, literal, text.length));
  return found;
}

const maxNesting = 20;

const maxName = 256;

function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index += 1) {
    if (text[index] === '{') depth += 1;
    else if (text[index] === '}' && (depth -= 1) === 0) return index;
  }
  return -1;
}

/** The value of what stands between braces: `NAME`, or `NAME` with an operator and a word. */
function substitute(inner: Piece, variables: Variables, depth: number): Pieces | undefined {
  const [, name = '', operator, word = ''] = /^([a-z_]\w*)(:?[-+?])?([\s\S]*)$/i.exec(inner.text) ?? [];
  if (name === '') return undefined;
  const value = variables(name);
  if (operator === undefined) return word === '' ? (value ?? []) : undefined;
  const isSet = value !== undefined && (!operator.startsWith(':') || textOf(value) !== '');
  const alternative = () =>
    interpolate(cut(inner, inner.text.length - word.length, inner.text.length), variables, depth + 1);
  if (operator.endsWith('-')) return isSet ? value : alternative();
  if (operator.endsWith('+')) return isSet ? alternative() : [];
  return isSet ? value : undefined;
}

/**
 * The variables of a `.env` file in the form that compose reads; undefined if it is malformed. A value may use
 * variables of `outer` and earlier ones of the file; a name in both is that of `outer`. If it is that of an earlier file
 * of the same project, it depends on the version of compose, so a value that uses it makes the file count as malformed:
 * 2.26 takes the earlier file's, 2.40 the file's own.
 */
function readEnvFile(
  { file, text }: { readonly file: string; readonly text: string },
  outer: Variables,
  earlier: ReadonlyMap<string, Pieces> = new Map(),
): ReadonlyMap<string, Pieces> | undefined {
  const values = new Map<string, Pieces>();
  let isAmbiguous = false;
  const known: Variables = (name) => {
    const [before, own] = [earlier.get(name), values.get(name)];
    isAmbiguous ||= before !== undefined && own !== undefined && textOf(before) !== textOf(own);
    return outer(name) ?? own;
  };
  const piece = (start: number, end: number): Piece => ({ text: text.slice(start, end), at: { file, offset: start } });
  let next = text.startsWith('\u{feff}') ? 1 : 0;
  while (next < text.length) {
    const start = next;
    const end = endOfLine(text, start);
    next = end + 1;
    const line = text.slice(start, end).replace(/\r$/, '');
    const [head, name] = /^\s*(?:export\s+)?([\w.-]+)[ \t]*[=:][ \t]*/.exec(line) ?? [];
    if (head === undefined || name === undefined) {
      // A name alone is taken from the environment of the shell.
      if (/^\s*(?:#.*|(?:export\s+)?[\w.-]+\s*)?$/.test(line)) continue;
      return undefined;
    }
    const begin = start + head.length;
    const quote = text[begin];
    if (quote === "'" || quote === '"') {
      const closing = closingQuote(text, begin, quote);
      if (closing === -1) return undefined;
      const inner = piece(begin + 1, closing);
      const isPlain = !inner.text.includes('\\');
      const value = quote === "'" ? [inner] : interpolate(isPlain ? inner : { text: unescaped(inner.text) }, known);
      if (value === undefined) return undefined;
      values.set(name, value);
      next = endOfLine(text, closing) + 1;
      continue;
    }
    const bare = line
      .slice(head.length)
      .replace(/(?:^|\s+)#.*$/, '')
      .trimEnd();
    const value = interpolate(piece(begin, begin + bare.length), known);
    if (value === undefined) return undefined;
    values.set(name, value);
  }
  return isAmbiguous ? undefined : values;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function closingQuote(text: string, open: number, quote: string): number {
  for (let index = open + 1; index < text.length; index += 1) {
    if (text[index] === '\\' && quote === '"') index += 1;
    else if (text[index] === quote) return index;
  }
  return -1;
}

/** Another escape than these stays as it is. A dollar sign is doubled, so that nothing is put in its place. */
function unescaped(text: string): string {
  const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', $: '$$', '"': '"', '\\': '\\' };
  return text.replaceAll(/\\([\s\S])/g, (escape, letter: string) => letters[letter] ?? escape);
}
